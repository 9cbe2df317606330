"""The languages of code blocks: one name for all the words of a language."""

from __future__ import annotations

import pytest

from llmsspider.content.markdown.commonmark import code_languages


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        pytest.param(
            "```sh\n```\n```bash\n```\n```console\n```", ["shell"], id="words of one language"
        ),
        pytest.param("```js\n```\n```javascript\n```", ["javascript"], id="short and long"),
        pytest.param(
            "```C++\n```\n```c#\n```\n```vb.net\n```",
            ["cpp", "csharp", "vb"],
            id="signs and capitals",
        ),
        pytest.param(
            "```js{1,3}\n```\n```rust,ignore\n```\n```ts:line-numbers\n```",
            ["javascript", "rust", "typescript"],
            id="more behind it",
        ),
        pytest.param('```yaml title="a.yml"\n```', ["yaml"], id="attributes"),
        pytest.param(
            "``` {.haskell .numberLines}\n```\n```{r echo=FALSE}\n```",
            ["haskell", "r"],
            id="Pandoc and knitr",
        ),
        pytest.param("```{code-block} py\n```\n```{note}\nx\n```", ["python"], id="MyST"),
        pytest.param(
            "```brainfuck\n```\n```text\n```\n```\n```", ["brainfuck"], id="unknown, none"
        ),
        pytest.param(
            "- ```py\n  1\n  ```\n- > ~~~ rb\n  > 1\n  > ~~~",
            ["python", "ruby"],
            id="lists and quotes",
        ),
        pytest.param(
            "````md\n```js\n```\n````\n```go\n```",
            ["markdown", "go"],
            id="a fence in a block is text",
        ),
        pytest.param("~~~sh\n```js\n~~~\n", ["shell"], id="the other fence"),
        pytest.param("a ```js``` b\n```x``` y\n\n`` ```py ``\n", [], id="code spans"),
        pytest.param(
            "".join(f"```lang-a{n}b\n```\n" for n in range(80)),
            [f"a{n}b" for n in range(50)],
            id="bounded",
        ),
    ],
)
def test_languages(markdown, expected):
    assert code_languages(markdown) == expected
