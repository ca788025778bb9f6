/** Reports whether each word of the search occurs in one of the texts. */
export function matchesSearch(search: string, texts: ReadonlyArray<string | null | undefined>): boolean {
  const searched = texts.join('\n').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word))
}
