// How the language server is started and told its settings: everything that needs no editor.
"use strict";

/** The server's command; `transport` 0 is standard input and output. */
function serverOptions(settings) {
  return { command: settings.get("command") || "etconfig", args: ["lsp"], transport: 0 };
}

/** What the server gets as it starts; later changes reach it as `workspace/didChangeConfiguration`. */
function clientOptions(settings, fileEvents) {
  return {
    documentSelector: [{ language: "toml", scheme: "file" }],
    initializationOptions: { device: settings.get("device") || "", facts: settings.get("facts") || "" },
    synchronize: { configurationSection: "etconfig", fileEvents },
  };
}

module.exports = { clientOptions, serverOptions };
