#!/usr/bin/env bash
# Crawl URL into the folder OUTPUT of the git repository around, say in the summary what changed, and commit that.
# Environment: URL, OUTPUT, ARGUMENTS (more words, one a line), COMMIT (true or false), GITHUB_OUTPUT, GITHUB_STEP_SUMMARY.
set -euo pipefail

words=()
while IFS= read -r word; do
    [ -z "$word" ] || words+=("$word")
done <<< "${ARGUMENTS:-}"

said=$(mktemp)
code=0
llmsspider "$URL" -o "$OUTPUT" "${words[@]}" > "$said" || code=$?
cat "$said"
if [ "$code" != 0 ] && [ "$code" != 3 ]; then # 3: the site answered in part only; what is there is right
    exit "$code"
fi

git add --all -- "$OUTPUT"
count() { git diff --cached --diff-filter="$1" --name-only -- "$OUTPUT" | grep -c '\.md$' || true; }
added=$(count A) changed=$(count M) removed=$(count D)
{
    echo "### Documentation of $URL"
    echo
    sed 's/^/- /' "$said"
} >> "$GITHUB_STEP_SUMMARY"
if git diff --cached --quiet -- "$OUTPUT"; then
    echo "changed=false" >> "$GITHUB_OUTPUT"
    printf '\nNothing changed.\n' >> "$GITHUB_STEP_SUMMARY"
    exit 0
fi
echo "changed=true" >> "$GITHUB_OUTPUT"
{
    printf '\n| added | changed | removed |\n|---|---|---|\n| %s | %s | %s |\n\n' "$added" "$changed" "$removed"
    echo '~~~~~~~~diff' # longer than any fence of the pages
    git diff --cached --no-color -- "$OUTPUT/*.md" | head -c 200000
    printf '\n~~~~~~~~\n'
} >> "$GITHUB_STEP_SUMMARY"
if [ "${COMMIT:-true}" = true ]; then
    git -c user.name=llmsspider -c user.email=llmsspider@users.noreply.github.com \
        commit --quiet -m "Documentation of $URL: $added added, $changed changed, $removed removed" -- "$OUTPUT"
    git push --quiet
fi
