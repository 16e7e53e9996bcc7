"""`Work`: what the worker finds out about documents, in the types of the protocol."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from etconfig.app.installation.project_location import find_project_file
from etconfig.app.validating.fixing import apply_fixes
from etconfig.diagnostics import Diagnostic, Fix, Severity, Span
from etconfig.diagnostics.rules import ALWAYS_ERRORS
from etconfig.errors import ConfigError
from etconfig.lsp.candidates import candidates
from etconfig.lsp.edited_place import word_at
from etconfig.lsp.job_thread import OpenDocument
from etconfig.lsp.place_answers import definitions, hints, hover
from etconfig.lsp.protocol_positions import EditorColumns
from etconfig.lsp.session import Session, is_begun, is_configuration
from etconfig.profile.document import parse_document

FIX_ALL = "source.fixAll.etconfig"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_START = types.Range(types.Position(0, 0), types.Position(0, 0))


class Work:
    """The sessions of one client.

    Args:
        texts: The texts of open documents by real path, as they are now.
        columns: The columns of the client's positions.
    """

    def __init__(self, texts: Mapping[str, str], columns: EditorColumns) -> None:
        self.columns, self._texts = columns, texts
        self._sessions: dict[Path | None, Session] = {}
        self._ours: set[str] = set()
        self._found: dict[str, tuple[OpenDocument, tuple[Diagnostic, ...]]] = {}
        self._running: Session | None = None
        self._is_interrupted = False

    def session(self, document: OpenDocument, sheet: Path | None) -> Session | None:
        """Return the session of a document; None if it is not etconfig's."""
        if is_configuration(document.path, document.text):
            self._ours.add(document.uri)  # and it stays so while its first line is retyped
        is_ours = document.uri in self._ours
        if not is_ours and not is_begun(document.path, document.text):
            return None
        project = find_project_file(document.path.parent)
        session = self._sessions.get(project)
        if session is None or session.sheet != sheet:
            session = self._sessions[project] = Session(document.path.parent, self._texts, sheet)
        if not is_ours and session.is_listed(document.path):
            self._ours.add(document.uri)
        return session if document.uri in self._ours else None

    def forget(self) -> None:
        """Forget all that was found out: files have changed."""
        self._sessions.clear()

    def interrupt(self) -> None:
        """Let a slow check end, from another thread than its own."""
        running = self._running
        if running is not None:
            self._is_interrupted = True
            running.stop()

    def problems(
        self, session: Session, document: OpenDocument, *, is_quick: bool
    ) -> list[types.Diagnostic] | None:
        """Return the problems of a document; None if the search was interrupted."""
        self._is_interrupted, self._running = False, None if is_quick else session
        found = session.problems(document.path, is_quick=is_quick)
        self._running = None
        if self._is_interrupted:
            return None
        self._found[document.uri] = (document, found)
        return [self._diagnostic(each, document) for each in found]

    def _diagnostic(self, problem: Diagnostic, document: OpenDocument) -> types.Diagnostic:
        name = str(document.path)
        own = next((span for span in problem.spans if span.file == name), None)
        is_elsewhere = own is None and bool(problem.spans)
        others = [self._location(span) for span in problem.spans if span is not own]
        related = [types.DiagnosticRelatedInformation(each, problem.code) for each in others if each]
        is_old = "deprecated" in problem.code or "renamed" in problem.code
        return types.Diagnostic(
            range=_START if own is None else self.columns.range(own),
            message=f"{problem.spans[0].place}: {problem.full_text}" if is_elsewhere else problem.full_text,
            severity=_SEVERITIES[problem.severity],
            code=problem.code,
            source="etconfig",
            tags=[types.DiagnosticTag.Deprecated] if is_old else None,
            related_information=related or None,
        )

    def _location(self, span: Span) -> types.Location | None:
        uri = from_fs_path(span.file) if os.path.isabs(span.file) else None  # noqa: PTH117
        return types.Location(uri, self.columns.range(span)) if uri else None

    def actions(
        self, session: Session, document: OpenDocument, params: types.CodeActionParams
    ) -> Iterator[types.CodeAction]:
        """Yield the fixes of the problems in a range; all safe ones at once if they are asked for."""
        seen, found = self._found.get(document.uri, (None, ()))
        if seen is None or seen.text != document.text:
            found = session.problems(document.path, is_quick=True)
        own = [each for each in found if each.fix and each.fix.span.file == str(document.path)]
        only = params.context.only
        if only is not None and any(FIX_ALL.startswith(str(kind)) for kind in only):
            safe = [each.fix for each in own if each.fix and each.fix.is_safe]
            yield from self._action(document, safe, "Fix all that keeps its meaning (etconfig)", FIX_ALL, [])
        if only is not None and types.CodeActionKind.QuickFix not in only and "" not in only:
            return
        kind, first, last = types.CodeActionKind.QuickFix, params.range.start.line, params.range.end.line
        for each in found:
            place = self._diagnostic(each, document)
            if first <= place.range.end.line and place.range.start.line <= last:
                if each in own and each.fix:
                    yield from self._action(document, [each.fix], _title(each.fix), kind, [place])
                if comment := _allowing(each, document):
                    title = f"Allow {each.code} here, with a reason"
                    yield from self._action(document, [comment], title, kind, [place])

    def _action(
        self, document: OpenDocument, fixes: list[Fix], title: str, kind: str, solved: list[types.Diagnostic]
    ) -> Iterator[types.CodeAction]:
        after, count = apply_fixes(document.text, fixes)
        if count:
            versioned = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            changed = types.TextDocumentEdit(versioned, [self.columns.edit(document.text, after)])
            edit = types.WorkspaceEdit(document_changes=[changed])
            is_sure = all(fix.is_safe for fix in fixes)
            yield types.CodeAction(title, kind, solved, is_preferred=is_sure, edit=edit)

    def completion(
        self, session: Session, document: OpenDocument, position: types.Position
    ) -> types.CompletionList:
        """Return what may stand at a place."""
        offset = self.columns.offset(document.text, position)
        items = []
        for each in candidates(session, document.path, document.text, offset):
            around = (offset - len(each.replaces), offset + len(each.rest))
            replaced = types.Range(*(self.columns.position(document.text, at) for at in around))
            each.item.text_edit = types.TextEdit(replaced, each.text)
            items.append(each.item)
        return types.CompletionList(is_incomplete=False, items=items)

    def hover(self, session: Session, document: OpenDocument, position: types.Position) -> types.Hover | None:
        """Return what is known about a place."""
        cursor = word_at(document.text, self.columns.offset(document.text, position))
        found = hover(session, document.path, document.text, cursor, position.line + 1)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found)) if found else None

    def definitions(
        self, session: Session, document: OpenDocument, position: types.Position
    ) -> list[types.Location]:
        """Return the places of a profile that is named, or of the value that wins."""
        cursor = word_at(document.text, self.columns.offset(document.text, position))
        found = definitions(session, document.path, document.text, cursor, position.line + 1)
        return [location for span in found if (location := self._location(span)) is not None]

    def hints(self, session: Session, document: OpenDocument, within: types.Range) -> list[types.InlayHint]:
        """Return the values that count in a range, where other ones are written."""
        found = hints(session, document.path, within.start.line + 1, within.end.line + 1)
        return [
            types.InlayHint(self.columns.range(span).end, text, tooltip=origin, padding_left=True)
            for span, text, origin in found
        ]


def _title(fix: Fix) -> str:
    """Return what a fix does, in whole words: of `True`, it may replace one letter."""
    line, start = fix.span.text or "", fix.span.column - 1
    end = start + fix.span.length
    before, behind = re.split(r"\W", line[:start])[-1], re.split(r"\W", line[end:])[0]
    words = [f"{before}{each}{behind}" for each in (line[start:end], fix.replacement)]
    title = f"Replace {words[0]} by {words[1] or 'nothing'}" if words[0] else f"Write {words[1]}"
    return title if fix.is_safe else f"{title} (a guess)"


def _allowing(problem: Diagnostic, document: OpenDocument) -> Fix | None:
    """Return the comment that allows a finding, for its author to complete; None if none may."""
    span = problem.spans[0] if problem.spans else None
    if span is None or span.file != str(document.path) or span.text is None:
        return None
    if problem.severity is Severity.ERROR or problem.code in (*ALWAYS_ERRORS, "unused-allowance"):
        return None
    indent = span.text[: len(span.text) - len(span.text.lstrip())]
    comment = f"{indent}# etconfig: allow {problem.code} because ...\n"
    fix = Fix(span=replace(span, column=1, length=0), replacement=comment)
    after = apply_fixes(document.text, [fix])[0]
    with suppress(ConfigError):  # inside a text of several lines, it would be no comment
        if parse_document(after, "after").data == parse_document(document.text, "before").data:
            return fix
    return None
