"""`HasView`: the base of objects that show themselves: in a line, as text, and in notebooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from etconfig.report.model import View


class HasView:
    """A base of objects that show themselves: in a line, as text, in notebooks; `_view` describes them."""

    def _view(self) -> View:
        """Return the description."""
        raise NotImplementedError

    def __repr__(self) -> str:
        from etconfig.report.model import shown_text

        return f"<{type(self).__name__}: {shown_text(self._view().title)}>"

    def __str__(self) -> str:
        from etconfig.report.text import own_text

        return own_text(self._view())

    def _repr_html_(self) -> str:
        from etconfig.report.html import own_html

        return own_html(self._view())
