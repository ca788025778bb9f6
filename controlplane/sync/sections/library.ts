import { PROTOCOL } from '../../../core/wire/gateway/field-additions.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { createSerial } from '../serial.ts'
import { type Configuration, type ConfigurationDeps, loadConfiguration } from './configuration.ts'
import { createSectionTexts } from './section-texts.ts'
import {
  createSectionBuilder,
  hasSameHashes,
  type Receiver,
  type SectionBuilder,
  type SectionSet,
} from './sections.ts'

/**
 * Caches the section sets of all gateways as of the last read. Each set is built at its first use. An unchanged set
 * keeps its earlier version, because the gateway received the set with this version and reports it as applied.
 */
export type SectionLibrary = {
  readonly version: number | null
  /** Epoch and version of the read configuration; null before the first `reload`. */
  readonly order: StateOrder | null
  /** The read configuration; null before the first `reload`. */
  readonly configuration: Configuration | null
  /** Reads the configuration again. Rejects when the database cannot be read; the earlier configuration then stays. */
  reload(): Promise<void>
  /** Returns the sections of a gateway for one receiver. Null for an unknown gateway. */
  of(gatewayId: string, receiver?: Partial<Receiver>): SectionSet | null
}

export function createSectionLibrary(deps: ConfigurationDeps): SectionLibrary {
  let configuration: Configuration | null = null
  let texts = createSectionTexts()
  let builder: SectionBuilder | null = null
  let built = new Map<string, SectionSet | null>()
  let before: ReadonlyMap<string, SectionVersion> = new Map()
  const reload = createSerial(async () => {
    configuration = await loadConfiguration(deps)
    texts = createSectionTexts(texts.sections)
    builder = createSectionBuilder(configuration, texts)
    before = stillInUse([...before, ...built], configuration)
    built = new Map()
  })
  return {
    get version() {
      return configuration?.version ?? null
    },
    get order() {
      if (configuration === null) return null
      return { epoch: configuration.epoch, revision: configuration.version }
    },
    get configuration() {
      return configuration
    },
    reload,
    of(gatewayId, { agent = null, protocol: spoken = PROTOCOL } = {}) {
      if (builder === null) return null
      const protocol = Math.min(spoken, PROTOCOL)
      const key = keyOf(gatewayId, protocol, agent)
      const known = built.get(key)
      if (known !== undefined) return known
      const fresh = builder.build(gatewayId, { agent, protocol })
      const set = unlessSame(before.get(key), fresh)
      built.set(key, set)
      return set
    },
  }
}

function keyOf(gatewayId: string, protocol: number, agent: string | null): string {
  return `${gatewayId} ${protocol} ${agent ?? ''}`
}

/** Version and hashes of a set, without its texts: the receiver of the set may have disconnected for ever. */
type SectionVersion = Pick<SectionSet, 'version' | 'hashes'>

/** Returns the versions of the sets, without those of gateways and agents that the configuration no longer has. */
function stillInUse(
  sets: ReadonlyArray<readonly [key: string, set: SectionVersion | null]>,
  { gateways, agents }: Configuration,
): ReadonlyMap<string, SectionVersion> {
  const names = new Set(agents.map(({ name }) => name))
  const inUse = sets.flatMap(([key, set]) => {
    const [gatewayId = '', , agent = ''] = key.split(' ')
    if (set === null || !gateways.has(gatewayId) || (agent !== '' && !names.has(agent))) return []
    return [[key, { version: set.version, hashes: set.hashes }] as const]
  })
  return new Map(inUse)
}

function unlessSame(old: SectionVersion | undefined, fresh: SectionSet | null): SectionSet | null {
  return old !== undefined && fresh !== null && hasSameHashes(old, fresh) ? { ...fresh, ...old } : fresh
}
