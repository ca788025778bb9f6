import { type IdKind, makeId } from '../../core/ids.ts'
import { pooledRandom } from './random.ts'

/** Returns a new id: the prefix of the kind, followed by 20 random characters (about 118 bits). */
export function newId(kind: IdKind): string {
  return makeId(kind, pooledRandom(20))
}
