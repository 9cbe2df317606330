"""What shows Scrapy a document that may have more fields than `Document`."""

from collections.abc import Iterator, KeysView
from types import MappingProxyType
from typing import Any

from itemadapter.adapter import DataclassAdapter, ItemAdapter

from llmsspider.items import FIELDS, OpenDocument, added_fields


class OpenDocumentAdapter(DataclassAdapter):
    """The fields of `Document` and those that were added, which are attributes of the item, too.

    `ItemAdapter(item)["summary"] = "…"` and `item.summary = "…"` are the same.
    """

    @classmethod
    def is_item(cls, item: Any) -> bool:
        """Return whether an item may have more fields."""
        return isinstance(item, OpenDocument)

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        """Return whether items of a class may have more fields."""
        return isinstance(item_class, type) and issubclass(item_class, OpenDocument)

    def field_names(self) -> KeysView[str]:
        """Return the names of all fields."""
        return dict.fromkeys(self).keys()

    def get_field_meta(self, field_name: str) -> MappingProxyType[str, Any]:
        """Return the metadata of a field; an added one has none."""
        return super().get_field_meta(field_name) if field_name in FIELDS else MappingProxyType({})

    def __getitem__(self, field_name: str) -> Any:
        return (
            getattr(self.item, field_name)
            if field_name in FIELDS
            else added_fields(self.item)[field_name]
        )

    def __setitem__(self, field_name: str, value: Any) -> None:
        if field_name in FIELDS:
            setattr(self.item, field_name, value)
        else:
            vars(self.item)[field_name] = value

    def __delitem__(self, field_name: str) -> None:
        if field_name in FIELDS:
            raise KeyError(f"{field_name} is a field of every document: set it to None")
        del vars(self.item)[field_name]

    def __iter__(self) -> Iterator[str]:
        yield from FIELDS
        yield from added_fields(self.item)

    def __len__(self) -> int:
        return len(FIELDS) + len(added_fields(self.item))


def register() -> None:
    """Have itemadapter use it, as its documentation says; a second call does nothing."""
    classes: Any = ItemAdapter.ADAPTER_CLASSES
    if OpenDocumentAdapter not in classes:
        classes.appendleft(OpenDocumentAdapter)
