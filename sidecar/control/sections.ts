import { PermissionShard, SECTION_SCHEMAS, SYNC_PATHS } from '../../core/wire/sync.ts'
import { type ControlClient, jsonOf } from './client.ts'
import { sha256Hex } from './mac.ts'

/** A section that arrived but is wrong. Asking again would not help: the manifest is refused. */
export class SectionRefused extends Error {
  override readonly name = 'SectionRefused'
}

export type Section = { readonly hash: string; readonly value: unknown }
export type Sections = ReadonlyMap<string, Section>

/**
 * Everything that `hashes` names: what is known is kept, the rest is fetched, checked byte for byte against its hash and
 * validated. Rejects with SectionRefused for a wrong one, with another error when the control plane cannot deliver.
 */
export async function fetchSections(
  client: ControlClient,
  hashes: Readonly<Record<string, string>>,
  known: Sections,
): Promise<Sections> {
  const fetched = await Promise.all(
    Object.entries(hashes).map(async ([name, hash]): Promise<readonly [string, Section]> => {
      const section = known.get(name)
      if (section?.hash === hash) return [name, section]
      return [name, { hash, value: await fetchSection(client, name, hash) }]
    }),
  )
  return new Map(fetched)
}

async function fetchSection(client: ControlClient, name: string, hash: string): Promise<unknown> {
  const path = `${SYNC_PATHS.sections}/${encodeURIComponent(name)}?hash=${hash}`
  const reply = await client.get(path, 20_000)
  if (reply.status !== 200) throw new Error(`section ${name}: the control plane answered ${reply.status}`)
  if (sha256Hex(reply.bytes) !== hash)
    throw new SectionRefused(`section ${name} does not have the announced hash`)
  const parsed = schemaOf(name).safeParse(jsonOf(reply))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new SectionRefused(`section ${name}, ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`)
}

function schemaOf(name: string) {
  if (/^permissions\.0[0-9a-f]$/.test(name)) return PermissionShard
  const schema = Object.hasOwn(SECTION_SCHEMAS, name)
    ? SECTION_SCHEMAS[name as keyof typeof SECTION_SCHEMAS]
    : null
  if (schema === null) throw new SectionRefused(`section ${name} is not known to this version of the gateway`)
  return schema
}
