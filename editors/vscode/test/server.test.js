// The server as the extension starts it, over standard input and output.
"use strict";

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { test } = require("node:test");
const rpc = require("vscode-jsonrpc/node");
const { clientOptions, serverOptions } = require("../src/server");

const COMMAND = process.env.ETCONFIG_COMMAND || "etconfig";
const settings = (values) => ({ get: (name) => values[name] });

async function withServer(values, use) {
  const options = serverOptions(settings({ command: COMMAND, ...values }));
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "etconfig-"));
  const server = spawn(options.command, options.args, { cwd: directory });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  );
  connection.listen();
  try {
    const { initializationOptions } = clientOptions(settings(values));
    await connection.sendRequest("initialize", {
      processId: process.pid, rootUri: null, capabilities: {}, initializationOptions,
    });
    await connection.sendNotification("initialized", {});
    await use(connection, pathToFileURL(path.join(directory, "board.toml")).href);
    await connection.sendRequest("shutdown");
    const left = new Promise((resolve) => server.on("exit", resolve));
    await connection.sendNotification("exit");
    assert.equal(await left, 0);
  } finally {
    connection.dispose();
    server.kill();
    fs.rmSync(directory, { recursive: true });
  }
}

function published(connection) {
  return new Promise((resolve) => connection.onNotification("textDocument/publishDiagnostics", resolve));
}

test("problems are published with the version", async () => {
  await withServer({}, async (connection, uri) => {
    const found = published(connection);
    const text = '[profile]\nname = "acme/board"\nmatch = "cpu.available_coers > 2"\n';
    await connection.sendNotification("textDocument/didOpen", {
      textDocument: { uri, languageId: "toml", version: 7, text },
    });
    const { version, diagnostics } = await found;
    assert.equal(version, 7);
    assert.match(diagnostics[0].message, /no fact is called 'cpu.available_coers'/);
  });
});

test("the device is that of the settings", async () => {
  await withServer({ device: "raspberry-pi/pi-5" }, async (connection, uri) => {
    const text = '[profile]\nname = "acme/board"\nmatch = "cpu.arch == \'arm64\'"\n';
    await connection.sendNotification("textDocument/didOpen", {
      textDocument: { uri, languageId: "toml", version: 1, text },
    });
    const hover = await connection.sendRequest("textDocument/hover", {
      textDocument: { uri }, position: { line: 2, character: 12 },
    });
    assert.match(hover.contents.value, /On pi-5: `arm64`/);
  });
});

test("the bundle loads in an editor that has the module vscode", () => {
  const Module = require("node:module");
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? new Proxy(class {}, { get: () => class {} }) : load(name, ...rest));
  try {
    const extension = require("../dist/extension.js");
    assert.equal(typeof extension.activate, "function");
    assert.equal(typeof extension.deactivate, "function");
  } finally {
    Module._load = load;
  }
});

test("each setting that is read is declared", () => {
  const declared = Object.keys(require("../package.json").contributes.configuration.properties);
  const read = [];
  const reading = { get: (name) => void read.push(`etconfig.${name}`) };
  serverOptions(reading);
  clientOptions(reading);
  assert.deepEqual(new Set(read), new Set(declared));
});
