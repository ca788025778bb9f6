import { type Configuration, type ConfigurationDeps, loadConfiguration } from './configuration.ts'
import { buildSections, type SectionSet } from './sections.ts'
import { createSerial } from './serial.ts'

/** The section sets of all gateways at the newest version that was read; each is built once, when first asked for. */
export type SectionLibrary = {
  readonly version: number | null
  /** What was read; null before the first `reload`. */
  readonly configuration: Configuration | null
  /** Reads the configuration again. Rejects when the database cannot be read; what was read before stays. */
  reload(): Promise<void>
  of(gatewayId: string): SectionSet | null
}

export function createSectionLibrary(deps: ConfigurationDeps): SectionLibrary {
  let configuration: Configuration | null = null
  let built = new Map<string, SectionSet | null>()
  const reload = createSerial(async () => {
    configuration = await loadConfiguration(deps)
    built = new Map()
  })
  return {
    get version() {
      return configuration?.version ?? null
    },
    get configuration() {
      return configuration
    },
    reload,
    of(gatewayId) {
      if (configuration === null) return null
      const known = built.get(gatewayId)
      if (known !== undefined) return known
      const set = buildSections(configuration, gatewayId)
      built.set(gatewayId, set)
      return set
    },
  }
}
