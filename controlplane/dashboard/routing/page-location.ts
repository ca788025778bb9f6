/** Where the reader is: a page and its state, both in the address (`#/traffic?decision=DENY`). */
export type PageLocation = { readonly page: string; readonly query: Readonly<Record<string, string>> }

export function parsePageLocation(hash: string): PageLocation {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?')
  return { page: path, query: Object.fromEntries(new URLSearchParams(search)) }
}

/** The address of a place; empty values are left out. */
export function hrefOf(
  page: string,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return pairs.length === 0 ? `#/${page}` : `#/${page}?${new URLSearchParams(pairs)}`
}
