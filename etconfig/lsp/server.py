"""The server: documents, the order of work, and the messages of the Language Server Protocol.

The main thread reads messages and keeps the texts; a worker does everything else, so a slow check holds up no
keystroke. Diagnostics are sent in two steps: the quick ones at once, all of them when nobody types.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from etconfig.base.version import __version__
from etconfig.lsp.job_thread import OpenDocument, Worker
from etconfig.lsp.protocol_positions import EditorColumns

if TYPE_CHECKING:
    from etconfig.lsp.session import Session
    from etconfig.lsp.work import Work

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_FIX_ALL = "source.fixAll.etconfig"
_IDLE_S = 0.3
"""The pause in typing after which slow checks run."""


class _Protocol(LanguageServerProtocol):
    """Keeps the texts itself: pygls ends lines at more characters than the protocol does."""

    _server: EditorServer

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        found = params.text_document
        self._server.keep(found.uri, found.version, found.text)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        known = self._server.documents.get(params.text_document.uri)
        text = "" if known is None else known.text
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                columns = self._server.columns
                start, end = (columns.offset(text, at) for at in (change.range.start, change.range.end))
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
        self._server.keep(params.text_document.uri, params.text_document.version, text)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.close(params.text_document.uri)


class EditorServer(LanguageServer):
    """The language server of etconfig.

    Attributes:
        documents: The open documents by URI.
        columns: The columns of the client's positions.
        worker: Runs everything that takes time.

    Args:
        sheet: The fact sheet of the device whose values are shown, unless a setting names one.
    """

    def __init__(self, sheet: Path | None = None) -> None:
        super().__init__("etconfig", __version__, protocol_cls=_Protocol)
        self.documents: dict[str, OpenDocument] = {}
        self._texts: dict[str, str] = {}
        self._given_sheet = self._sheet = sheet
        self.columns = EditorColumns()
        self.worker = Worker()

    @cached_property
    def work(self) -> Work:
        """The worker's part; the worker makes it, since the imports take longer than a client waits."""
        from etconfig.lsp.work import Work

        return Work(self._texts, self.columns)

    def _interrupt(self) -> None:
        if "work" in vars(self):
            self.work.interrupt()

    # --- documents -----------------------------------------------------------------------

    def keep(self, uri: str, version: int | None, text: str) -> None:
        """Keep the text of an open document, and check it."""
        name = to_fs_path(uri)
        if name:  # or it has no file yet
            self.documents[uri] = OpenDocument(uri=uri, path=Path(name), version=version, text=text)
            self._texts[os.path.realpath(name)] = text.replace("\r\n", "\n")
            self._check(uri)

    def close(self, uri: str) -> None:
        """Forget a document: from now on, its file counts."""
        document = self.documents.pop(uri, None)
        if document is not None:
            self._texts.pop(os.path.realpath(document.path), None)
            self._send(uri, None, [])
            self.check_all()

    def check_all(self) -> None:
        """Check all documents again."""
        for uri in self.documents:
            self._check(uri)

    def _check(self, uri: str) -> None:
        self._interrupt()
        self.worker.put((uri, "quick"), partial(self._find, uri, is_quick=True))
        for each in self.documents:  # which may extend it
            self.worker.put((each, "all"), partial(self._find, each, is_quick=False), _IDLE_S)

    def _find(self, uri: str, *, is_quick: bool) -> None:
        """Find the problems of a document, in the worker."""
        document = self.documents.get(uri)
        try:
            session = self.work.session(document, self._sheet) if document else None
            if document is None or session is None:
                return
            found = self.work.problems(session, document, is_quick=is_quick)
        except Exception:  # a bug, which must not end the worker
            _log.exception("cannot check %s", uri)
            return
        if found is None:
            self.worker.put((uri, "all"), partial(self._find, uri, is_quick=False), _IDLE_S)
        else:
            with suppress(RuntimeError):  # the client has left
                self._loop.call_soon_threadsafe(self._send, uri, document.version, found)

    def _send(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        document = self.documents.get(uri)
        if (document.version if document else None) == version:
            params = types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=found)
            self.text_document_publish_diagnostics(params)

    async def ask(self, uri: str, question: Callable[[Work, Session, OpenDocument], _T]) -> _T | None:
        """Let the worker answer a question about a document; None if it is not open, or not etconfig's."""
        document = self.documents.get(uri)
        if document is None:
            return None
        answer: Future[_T | None] = Future()

        def job() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    session = self.work.session(document, self._sheet)
                    answer.set_result(None if session is None else question(self.work, session, document))
                except Exception as error:
                    answer.set_exception(error)

        self._interrupt()
        self.worker.put(job, job)
        return await asyncio.wrap_future(answer)

    # --- settings ------------------------------------------------------------------------

    def begin(self, params: types.InitializeParams) -> None:
        """Take note of what the client can do."""
        self._loop = asyncio.get_running_loop()
        encoding = self.workspace.position_encoding
        self.columns = EditorColumns(str(getattr(encoding, "value", encoding) or "utf-16"))
        self.configure(params.initialization_options)

    def configure(self, settings: Any) -> None:
        """Take the device from settings: `device` is the name of a known one, `facts` a sheet."""
        settings = settings.get("etconfig", settings) if isinstance(settings, dict) else None
        if not isinstance(settings, dict):
            return
        from etconfig.errors import FactError
        from etconfig.facts.known_devices import device_path, find_device

        facts, device, wrong = settings.get("facts"), settings.get("device"), ""
        self._sheet = self._given_sheet
        try:
            if device:
                self._sheet = device_path(find_device(device))
            elif facts:
                self._sheet = Path(facts)
                self.worker.put("sheet", partial(self._check_sheet, self._sheet))
            if device and facts:
                wrong = "etconfig.device counts, and etconfig.facts does not: leave one empty"
        except (FactError, TypeError) as error:
            wrong = f"etconfig.{'device' if device else 'facts'}: {error}"
        self._show(wrong)
        self.check_all()

    def _check_sheet(self, sheet: Path) -> None:
        """Report a sheet that is wrong, in the worker: it may have facts of plugins."""
        from etconfig.errors import EtconfigError
        from etconfig.lsp.session import Session

        with suppress(EtconfigError, OSError, RuntimeError):  # of the last kind: the client has left
            problem = Session(Path.cwd(), self._texts, sheet).on_device[2]
            self._loop.call_soon_threadsafe(self._show, problem and f"etconfig.facts: {problem}")

    def _show(self, message: str) -> None:
        if message:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))

    def look_again(self) -> None:
        """Check all documents again, with files as they are now."""
        self.worker.put("forget", lambda: self.work.forget())
        self.check_all()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error of a message; a user who sees it could do nothing about it."""
        _log.error("%s", error)


def make_server(sheet: Path | None = None) -> EditorServer:
    """Return a server that waits to be started. Arguments as for `EditorServer`."""
    server = EditorServer(sheet)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        server.worker.put("begin", lambda: server.work)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def settings(params: types.DidChangeConfigurationParams) -> None:
        server.configure(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files(params: types.DidChangeWatchedFilesParams) -> None:
        server.look_again()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.look_again()

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await server.ask(params.text_document.uri, lambda w, s, d: w.hover(s, d, params.position))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[*".\"'[ ="]))
    async def completion(params: types.CompletionParams) -> types.CompletionList | None:
        return await server.ask(params.text_document.uri, lambda w, s, d: w.completion(s, d, params.position))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[types.Location] | None:
        return await server.ask(
            params.text_document.uri, lambda w, s, d: w.definitions(s, d, params.position)
        )

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, _FIX_ALL]),
    )
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        return await server.ask(params.text_document.uri, lambda w, s, d: [*w.actions(s, d, params)])

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        return await server.ask(params.text_document.uri, lambda w, s, d: w.hints(s, d, params.range))

    return server


def serve_editor(output: BinaryIO, sheet: Path | None = None) -> None:
    """Talk to a client on standard input and `output` until it leaves."""
    logging.getLogger("pygls").setLevel(logging.ERROR)  # else it warns of each answer that came too soon
    gc.set_threshold(10_000)  # a command that ends soon has no use for it, but this one stays
    with os.fdopen(os.dup(0), "rb") as messages, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # a process that a detector starts must not read the messages
        try:
            make_server(sheet).start_io(messages, output)
        finally:
            os.dup2(messages.fileno(), 0)
