import { call } from '../../../api/client.ts'
import type { Catalogue } from './action-completions.ts'

/**
 * Returns the catalogue of the installation. The catalogue reads the actions of a connector type when a completion
 * first needs them. If a read fails, the completion gets an empty list, and the next completion repeats the read.
 */
export function readCatalogue(): Catalogue {
  const known = new Map<string, Promise<readonly unknown[]>>()
  const once = async <Item>(key: string, read: () => Promise<readonly Item[]>): Promise<readonly Item[]> => {
    const found = (known.get(key) as Promise<readonly Item[]> | undefined) ?? read()
    known.set(key, found)
    try {
      return await found
    } catch {
      known.delete(key)
      return []
    }
  }
  return {
    types: () =>
      once('', async () =>
        (await call('GET /api/dashboard/catalogue', {})).connectors.map(({ type }) => type),
      ),
    actionsOf: (type) =>
      once(
        type,
        async () => (await call('GET /api/dashboard/catalogue/{type}', { params: { type } })).actions,
      ),
  }
}
