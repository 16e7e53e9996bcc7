// The extension: it starts `etconfig lsp` for TOML files, and starts it again if its command changes.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { clientOptions, serverOptions } = require("./server");

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("etconfig");
  const files = vscode.workspace.createFileSystemWatcher("**/*.{toml,pte,bpte}");
  client = new LanguageClient("etconfig", "etconfig", serverOptions(settings), clientOptions(settings, files));
  try {
    await client.start();
  } catch (error) {
    const command = serverOptions(settings).command;
    vscode.window.showErrorMessage(`etconfig: cannot start "${command} lsp"; set etconfig.command. ${error.message}`);
  }
}

async function restart() {
  await deactivate();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("etconfig.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("etconfig.command")) restart();
    }),
  );
  await start();
}

async function deactivate() {
  if (client && client.isRunning()) await client.stop();
  client = undefined;
}

module.exports = { activate, deactivate };
