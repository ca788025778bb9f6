import type { Refusal } from '../../request/canonical.ts'
import type { Sliced } from '../../sliced.ts'
import type { Commits, PackTools } from '../codehost/push/pack.ts'
import type { Named } from '../connector.ts'
import type { ProviderAct } from '../provider-side/kinds.ts'

/** Reads the head of a body in three steps: decide by the request line, wait for enough bytes, read them in slices. */
export type HeadReader = {
  readonly maxBytes: number
  /** Classifies the request by its line alone, with all actions that its body can add. */
  announced(): Named
  /**
   * Starts a scan of an arriving body. The scan function receives all bytes so far and returns the byte count to wait
   * for before the next call; a count that is already available means that the bytes suffice. It keeps its position.
   */
  scan(): (bytes: Uint8Array) => number
  /** Reads the commits in the head, within `PACK_BUDGET`; null if the class does not depend on them. */
  read(bytes: Uint8Array, tools: PackTools): Sliced<Commits | null>
}

export type UploadReader = (
  bytes: Uint8Array | null,
  contentType: string,
) => Sliced<readonly ProviderAct[] | Refusal>
