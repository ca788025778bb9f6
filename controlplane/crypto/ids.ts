import { type IdKind, makeId } from '../../core/ids.ts'
import { pooledRandom } from './random.ts'

/** A new id with 20 random characters (about 118 bits) after its prefix. */
export function newId(kind: IdKind): string {
  return makeId(kind, pooledRandom(20))
}
