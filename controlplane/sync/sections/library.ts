import { PROTOCOL } from '../../../core/wire/gateway/field-additions.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { createSerial } from '../serial.ts'
import { type Configuration, type ConfigurationDeps, loadConfiguration } from './configuration.ts'
import { buildSections, type Receiver, type SectionSet } from './sections.ts'

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
  let built = new Map<string, SectionSet | null>()
  let before: ReadonlyMap<string, SectionSet | null> = new Map()
  const reload = createSerial(async () => {
    configuration = await loadConfiguration(deps)
    before = new Map([...before, ...built])
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
      if (configuration === null) return null
      const protocol = Math.min(spoken, PROTOCOL)
      const key = `${gatewayId} ${protocol} ${agent ?? ''}`
      const known = built.get(key)
      if (known !== undefined) return known
      const fresh = buildSections(configuration, gatewayId, { agent, protocol })
      const set = unlessSame(before.get(key) ?? null, fresh)
      built.set(key, set)
      return set
    },
  }
}

function unlessSame(old: SectionSet | null, fresh: SectionSet | null): SectionSet | null {
  if (old === null || fresh === null) return fresh
  return JSON.stringify(old.hashes) === JSON.stringify(fresh.hashes) ? old : fresh
}
