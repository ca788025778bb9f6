import { PROTOCOL } from '../../../core/wire/gateway/field-additions.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { createSerial } from '../serial.ts'
import { type Configuration, type ConfigurationDeps, loadConfiguration } from './configuration.ts'
import { buildSections, type Receiver, type SectionSet } from './sections.ts'

/**
 * Section sets of all gateways as of the last read; each is built at its first use. A set keeps the version of its last
 * change, which is the version that its gateway received and decides by.
 */
export type SectionLibrary = {
  readonly version: number | null
  /** Order of the configuration that was read; null before the first `reload`. */
  readonly order: StateOrder | null
  /** The configuration that was read; null before the first `reload`. */
  readonly configuration: Configuration | null
  /** Reads the configuration again. Rejects when the database cannot be read; the earlier configuration stays. */
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
