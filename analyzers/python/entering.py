"""What the walk does at each kind of node: where it goes on, which scope it opens, and which names are bound."""

from __future__ import annotations

import ast
from collections.abc import Callable

from analyzers.python.scopes import Binding, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzers.python.tree import Tree

# What of each kind of node holds more nodes that anybody asks for, by the names of :mod:`ast` of Python 3.8 to 3.15.
# Contexts, operators and names are left out; functions, classes and comprehensions are entered below.
PARTS: dict[type[ast.AST], tuple[str, ...]] = {
    getattr(ast, kind): tuple(parts.split())
    for kind, parts in {
        "AnnAssign": "target annotation value",
        "Assert": "test msg",
        "Assign": "targets value",
        "AsyncFor": "target iter body orelse",
        "AsyncWith": "items body",
        "AugAssign": "target value",
        "Await": "value",
        "BinOp": "left right",
        "BoolOp": "values",
        "Call": "func args keywords",
        "Compare": "left comparators",
        "Delete": "targets",
        "Dict": "keys values",
        "ExceptHandler": "type body",
        "Expr": "value",
        "For": "target iter body orelse",
        "FormattedValue": "value format_spec",
        "If": "test body orelse",
        "IfExp": "test body orelse",
        "Interpolation": "value format_spec",
        "JoinedStr": "values",
        "List": "elts",
        "Match": "subject cases",
        "MatchAs": "pattern",
        "MatchClass": "cls patterns kwd_patterns",
        "MatchMapping": "keys patterns",
        "MatchOr": "patterns",
        "MatchSequence": "patterns",
        "MatchValue": "value",
        "NamedExpr": "target value",
        "Raise": "exc cause",
        "Return": "value",
        "Set": "elts",
        "Slice": "lower upper step",
        "Starred": "value",
        "Subscript": "value slice",
        "TemplateStr": "values",
        "Try": "body handlers orelse finalbody",
        "TryStar": "body handlers orelse finalbody",
        "Tuple": "elts",
        "TypeAlias": "value",
        "UnaryOp": "operand",
        "While": "test body orelse",
        "With": "items body",
        "Yield": "value",
        "YieldFrom": "value",
        "keyword": "value",
        "match_case": "pattern guard body",
        "withitem": "context_expr optional_vars",
    }.items()
    if hasattr(ast, kind)
}


def _enter_function(tree: Tree, node: Any, scope: Scope, stack: list[Any]) -> None:  # noqa: ANN401 - three kinds
    arguments = node.args
    is_lambda = node.__class__ is ast.Lambda
    inner = tree.open(node, scope, [node.body] if is_lambda else node.body)
    if not is_lambda:
        scope.bind(node.name, node, node)
        stack += node.decorator_list
        stack.append(node.returns)
    stack += arguments.defaults
    stack += arguments.kw_defaults
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        inner.bound[argument.arg] = [Binding(argument, inner, argument)]
        stack.append(argument.annotation)
    for argument in (arguments.vararg, arguments.kwarg):
        if argument is not None:
            inner.bound[argument.arg] = [Binding(argument, inner, argument)]
            stack.append(argument.annotation)


def _enter_class(tree: Tree, node: ast.ClassDef, scope: Scope, stack: list[Any]) -> None:
    tree.open(node, scope, node.body)
    scope.bind(node.name, node, node)
    stack += node.decorator_list
    stack += node.bases
    stack += node.keywords


def _enter_comprehension(tree: Tree, node: Any, scope: Scope, stack: list[Any]) -> None:  # noqa: ANN401 - four kinds
    body = [node.key, node.value] if node.__class__ is ast.DictComp else [node.elt]
    for number, generator in enumerate(node.generators):
        if number:
            body.append(generator.iter)
        body += generator.ifs
    inner = tree.open(node, scope, body)
    stack.append(node.generators[0].iter)
    for generator in node.generators:
        inner.bind_target(generator.target, generator, generator)


def _enter_import(tree: Tree, node: ast.Import, scope: Scope, _: list[Any]) -> None:
    for alias in node.names:
        tree.modules.add(alias.name)
        name = alias.asname or alias.name.partition(".")[0]
        scope.bind(name, alias.name if alias.asname else name, node)
        if alias.asname:
            tree.watch(alias.asname, alias.name.rpartition(".")[2])


def _enter_import_from(tree: Tree, node: ast.ImportFrom, scope: Scope, _: list[Any]) -> None:
    module = "." * node.level + (node.module or "")
    tree.modules.add(module)
    for alias in node.names:
        if alias.name == "*":
            tree.stars.append(module)
            continue
        scope.bind(alias.asname or alias.name, f"{module}.{alias.name}", node)
        if alias.asname:
            tree.watch(alias.asname, alias.name)


def _enter_assign(_: Tree, node: ast.Assign, scope: Scope, __: list[Any]) -> None:
    for target in node.targets:
        scope.bind_target(target, node.value, node)


def _enter_annotated(_: Tree, node: ast.AnnAssign, scope: Scope, __: list[Any]) -> None:
    scope.bind_target(node.target, node.value or node, node)


def _enter_walrus(_: Tree, node: ast.NamedExpr, scope: Scope, __: list[Any]) -> None:
    while isinstance(scope.node, _COMPREHENSIONS) and scope.parent is not None:
        scope = scope.parent
    scope.bind(node.target.id, node.value, node)


def _enter_loop(_: Tree, node: ast.For | ast.AsyncFor | ast.AugAssign, scope: Scope, __: list[Any]) -> None:
    scope.bind_target(node.target, node, node)


def _enter_with_item(_: Tree, node: ast.withitem, scope: Scope, __: list[Any]) -> None:
    if node.optional_vars is not None:
        scope.bind_target(node.optional_vars, node.context_expr, node)


def _enter_name(_: Tree, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar, scope: Scope, __: list[Any]) -> None:
    if node.name:
        scope.bind(node.name, None, node)


def _enter_mapping(_: Tree, node: ast.MatchMapping, scope: Scope, __: list[Any]) -> None:
    if node.rest:
        scope.bind(node.rest, None, node)


def _enter_return(_: Tree, node: ast.Return, scope: Scope, __: list[Any]) -> None:
    if node.value is not None:
        scope.returns.append(node.value)


def _enter_delete(_: Tree, node: ast.Delete, scope: Scope, __: list[Any]) -> None:
    stack: list[ast.expr] = [*node.targets]
    while stack:
        match stack.pop():
            case ast.Name(id=name):
                scope.elsewhere.get(name, scope).deleted.add(name)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                stack += items
            case _:
                pass


def _enter_global(tree: Tree, node: ast.Global, scope: Scope, _: list[Any]) -> None:
    scope.elsewhere.update(dict.fromkeys(node.names, tree.scope))


def _enter_nonlocal(_: Tree, node: ast.Nonlocal, scope: Scope, __: list[Any]) -> None:
    for name in node.names:
        outer = scope.parent
        while outer is not None and (outer.node.__class__ is ast.ClassDef or name not in outer.bound):
            outer = outer.parent
        if outer is not None:
            scope.elsewhere[name] = outer


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ENTRANCES: dict[type[ast.AST], Callable[[Tree, Any, Scope, list[Any]], None]] = {
    ast.FunctionDef: _enter_function,
    ast.AsyncFunctionDef: _enter_function,
    ast.Lambda: _enter_function,
    ast.ClassDef: _enter_class,
    **dict.fromkeys(_COMPREHENSIONS, _enter_comprehension),
    ast.Import: _enter_import,
    ast.ImportFrom: _enter_import_from,
    ast.Assign: _enter_assign,
    ast.AnnAssign: _enter_annotated,
    ast.AugAssign: _enter_loop,
    ast.NamedExpr: _enter_walrus,
    ast.For: _enter_loop,
    ast.AsyncFor: _enter_loop,
    ast.withitem: _enter_with_item,
    ast.ExceptHandler: _enter_name,
    ast.MatchAs: _enter_name,
    ast.MatchStar: _enter_name,
    ast.MatchMapping: _enter_mapping,
    ast.Return: _enter_return,
    ast.Delete: _enter_delete,
    ast.Global: _enter_global,
    ast.Nonlocal: _enter_nonlocal,
}
