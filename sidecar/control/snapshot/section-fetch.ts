import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { sha256Hex } from '../../process/sha256.ts'
import { type ControlClient, jsonOf } from '../client/client.ts'

/** Something arrived but is wrong. Asking again would not help: the manifest is refused. */
export class SectionIndexRefused extends Error {
  override readonly name = 'SectionIndexRefused'
}

/** The control plane knows no section by that hash: as a rule because a newer version has replaced it meanwhile. */
export class SectionReplaced extends Error {
  override readonly name = 'SectionReplaced'
}

type Hashes = Readonly<Record<string, string>>

/**
 * The sections whose hash differs from `known`, each checked byte for byte against its hash. What is in them is
 * validated when the snapshot is built. Rejects with SectionIndexRefused for a section that is not what was announced,
 * SectionReplaced when it is no longer kept, another error when the control plane cannot deliver.
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
  const path = `${SYNC_PATHS.sections}/${encodeURIComponent(name)}?hash=${encodeURIComponent(hash)}`
  const reply = await client.get(path, 20_000)
  if (reply.status === 404) throw new SectionReplaced(`section ${name}: the control plane answered 404`)
  if (reply.status !== 200) throw new Error(`section ${name}: the control plane answered ${reply.status}`)
  if (sha256Hex(reply.bytes) !== hash) {
    throw new SectionIndexRefused(`section ${name} does not have the announced hash`)
  }
  return jsonOf(reply)
}
