import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { type ControlClient, jsonOf } from '../client/client.ts'

/**
 * Error for a section that arrived but is invalid. A retry would return the same section, so the section index is
 * refused.
 */
export class SectionIndexRefused extends Error {
  override readonly name = 'SectionIndexRefused'
}

/** Error for a section that the control plane no longer has, usually because a newer version replaced it. */
export class SectionReplaced extends Error {
  override readonly name = 'SectionReplaced'
}

/** Most permission sections of a small fleet are empty lists. Their hash suffices, so they are not fetched. */
const EMPTY_LIST_HASH = sha256Hex('[]')

type Hashes = Readonly<Record<string, string>>

/**
 * Fetches the sections whose hash differs from `known` and verifies each against its hash. Their content is validated
 * when the snapshot is built. Rejects with SectionIndexRefused when a section does not match its hash, with
 * SectionReplaced when the control plane no longer has it, and with another error when the fetch fails.
 */
export async function fetchChanged(
  client: ControlClient,
  hashes: Hashes,
  known: Hashes,
): Promise<Readonly<Record<string, unknown>>> {
  const changed = Object.entries(hashes).filter(([name, hash]) => known[name] !== hash)
  const fetched = await Promise.all(
    changed.map(async ([name, hash]) => [name, await fetchSection(client, name, hash)] as const),
  )
  return Object.fromEntries(fetched)
}

async function fetchSection(client: ControlClient, name: string, hash: string): Promise<unknown> {
  if (hash === EMPTY_LIST_HASH) return []
  const path = `${SYNC_PATHS.sections}/${encodeURIComponent(name)}?hash=${encodeURIComponent(hash)}`
  const reply = await client.get(path, 20_000)
  if (reply.status === 404)
    throw new SectionReplaced(
      `the control plane does not have part ${name} of this configuration any more (404); a newer configuration replaces it`,
    )
  if (reply.status !== 200)
    throw new Error(
      `the control plane answered ${reply.status} to the request for part ${name} of the configuration`,
    )
  if (sha256Hex(reply.bytes) !== hash) {
    throw new SectionIndexRefused(
      `part ${name} of the configuration does not have the hash that the control plane announced`,
    )
  }
  return jsonOf(reply)
}
