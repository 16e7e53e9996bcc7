"""`HasView`: the base of objects that show themselves, as text and in notebooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from etconfig.report.model import View


class HasView:
    """A base of objects that show themselves, as text and in notebooks; `_view` describes them."""

    def _view(self) -> View:
        """Return the description."""
        raise NotImplementedError

    def __str__(self) -> str:
        from etconfig.report.text import own_text

        return own_text(self._view())

    def _repr_html_(self) -> str:
        from etconfig.report.html import own_html

        return own_html(self._view())
