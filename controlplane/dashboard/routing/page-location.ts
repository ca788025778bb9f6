/** A page and its query values, both from the fragment of the URL (`#/traffic?decision=DENY`). */
export type PageLocation = { readonly page: string; readonly query: Readonly<Record<string, string>> }

export function parsePageLocation(hash: string): PageLocation {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?')
  return { page: path, query: Object.fromEntries(new URLSearchParams(search)) }
}

/** Returns the URL fragment of a page. Omits empty values. */
export function hrefOf(
  page: string,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value] as const] : []))
  return pairs.length === 0 ? `#/${page}` : `#/${page}?${new URLSearchParams(Object.fromEntries(pairs))}`
}
