"""Queries with other fields, of the query or of what it asks for."""

from dataclasses import fields, replace

from dpmosaic.common.data.view import View

OF_VIEWS = {field.name for field in fields(View)}


def changed(query, **others):
    """A query or measurement with other fields, of its view too.

    Of a score query, `cliques` and `groups` are those of its views.
    """
    of_view = {name: value for name, value in others.items() if name in OF_VIEWS}
    own = {name: value for name, value in others.items() if name not in OF_VIEWS | {"cliques"}}
    if hasattr(query, "views"):
        cliques = others.get("cliques", [view.clique for view in query.views])
        groups = others.get("groups") or [()] * len(cliques)
        return replace(query, views=tuple(map(View, cliques, groups)), **own)
    return replace(query, view=replace(query.view, **of_view), **own)
