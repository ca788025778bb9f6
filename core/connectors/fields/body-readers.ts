import type { EffectClass } from '../../action/effect-class.ts'
import type { Refusal } from '../../request/canonical.ts'
import type { Pairs } from '../../request/headers/repeated-names.ts'
import type { Sliced } from '../../sliced.ts'
import type { Commits, PackDepth, PackTools } from '../codehost/push/pack.ts'
import type { Named } from '../connector.ts'
import type { Handle } from '../handles/handle.ts'
import type { ProviderAct } from '../provider-side/kinds.ts'

/**
 * Classifies a request by the first bytes of its body. `announced` classifies by the request line, `scan` determines
 * how many bytes are needed, and `read` reads the commits in these bytes.
 */
export type HeadReader = {
  readonly maxBytes: number
  /** Effect classes that only the trees of a push can show (`depth: 'trees'`, see `PackDepth`). */
  readonly effectsOfTrees: readonly EffectClass[]
  /** Classifies the request by its request line alone, and announces all actions that its body can add. */
  announced(): Named
  /**
   * Returns a scan of an arriving body. The scan receives all bytes so far and returns the byte count to wait for
   * before the next call. A count that is already available means that the bytes suffice. The scan continues at its
   * last position.
   */
  scan(depth: PackDepth): (bytes: Uint8Array) => number
  /** Reads the commits in the first bytes, within `PACK_BUDGET`; null if the classification does not need them. */
  read(bytes: Uint8Array, tools: PackTools, depth: PackDepth): Sliced<Commits | null>
}

/**
 * Actions that the provider performs because of an upload, and handles (ids of provider resources) that the upload
 * names. `unread`: the gateway could not read the upload, which may name any handle. `fields`: the fields of a form
 * that the gateway read completely.
 */
export type UploadFacts = {
  readonly acts: readonly ProviderAct[]
  readonly handles: readonly Handle[] | 'unread'
  readonly fields?: Pairs
}

export type UploadReader = (bytes: Uint8Array | null, contentType: string) => Sliced<UploadFacts | Refusal>
