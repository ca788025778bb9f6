import { type Base, baseOf, stripPrefix } from '../domains.ts'
import type { RowClassifier } from './row-connector.ts'
import type { RowTrie } from './row-trie.ts'

/**
 * Returns the rows that apply to a request, for an API whose templates begin with `root` (`v1`, `api`). A `baseUrl` may
 * add a path: both `https://host/proxy` and `https://host/proxy/v1` place the rows below `/proxy/v1/…`. Other paths of
 * that host have no rows. Other domains may be names of the same server, so on these domains the rows also apply
 * without the added path.
 */
export function prefixedSurface(
  trie: () => RowTrie,
  root: string,
): Required<Pick<RowClassifier, 'surface' | 'below'>> {
  const nothing: RowTrie[] = []
  const prefixOf = ({ segments }: Base) => (segments.at(-1) === root ? segments.slice(0, -1) : segments)
  return {
    surface(request, config) {
      const base = baseOf(config)
      if (base === null) return { tries: [trie()], path: request }
      const path = stripPrefix(request, [prefixOf(base)])
      if (base.host !== request.host) return { tries: [trie()], path: path ?? request }
      return path === null ? { tries: nothing, path: request } : { tries: [trie()], path }
    },
    below(config) {
      const base = baseOf(config)
      return base === null ? null : { trie: trie(), prefixes: [prefixOf(base)] }
    },
  }
}
