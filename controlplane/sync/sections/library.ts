import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { createSerial } from '../serial.ts'
import { type Configuration, type ConfigurationDeps, loadConfiguration } from './configuration.ts'
import { buildSections, type SectionSet } from './sections.ts'

/**
 * The section sets of all gateways as they were last read; each is built once, when first asked for. A set keeps the
 * version at which its content last changed: that is the version its gateway was sent and decides with.
 */
export type SectionLibrary = {
  readonly version: number | null
  /** Where what was read stands among all states; null before the first `reload`. */
  readonly order: StateOrder | null
  /** What was read; null before the first `reload`. */
  readonly configuration: Configuration | null
  /** Reads the configuration again. Rejects when the database cannot be read; what was read before stays. */
  reload(): Promise<void>
  /** What a gateway is sent; what the sidecar of one agent is sent when `agent` names it. Null for no such gateway. */
  of(gatewayId: string, agent?: string | null): SectionSet | null
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
    of(gatewayId, agent = null) {
      if (configuration === null) return null
      const key = agent === null ? gatewayId : `${gatewayId} ${agent}`
      const known = built.get(key)
      if (known !== undefined) return known
      const fresh = buildSections(configuration, gatewayId, agent)
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
