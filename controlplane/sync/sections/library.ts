import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { PROTOCOL } from '../../../core/wire/gateway/sections/field-additions.ts'
import { createPace } from '../pace.ts'
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
import { completeInSlices } from './steps.ts'

/**
 * Caches the sections of all gateways as of the last read of the configuration. The sections of one receiver
 * are a set. Each set is built at its first use. An unchanged set keeps its earlier version, because the
 * gateway received the set with this version and reports it as applied.
 */
export type SectionLibrary = {
  readonly version: number | null
  /** Epoch and version of the configuration that was read last; null before the first `reload`. */
  readonly order: StateOrder | null
  /** The configuration that was read last; null before the first `reload`. */
  readonly configuration: Configuration | null
  /** Reads the configuration again. Rejects when the database cannot be read; the earlier configuration then stays. */
  reload(): Promise<void>
  /**
   * Builds the sections of a gateway for one receiver in slices of 5 ms, so that kill switches and probes are served
   * between two slices. Afterwards, `of` returns these sections at once. Never rejects.
   */
  prepare(gatewayId: string, receiver?: Partial<Receiver>): Promise<void>
  /** Returns the sections of a gateway for one receiver. Returns null for an unknown gateway. */
  of(gatewayId: string, receiver?: Partial<Receiver>): SectionSet | null
}

export function createSectionLibrary(deps: ConfigurationDeps): SectionLibrary {
  let configuration: Configuration | null = null
  let texts = createSectionTexts()
  let builder: SectionBuilder | null = null
  let built = new Map<string, SectionSet | null>()
  let before: ReadonlyMap<string, SectionVersion> = new Map()
  // Gateway processes whose sections were requested by `of` since the last reload. The next reload builds their
  // sections in slices.
  let asked = new Map<string, AskedReceiver>()
  const reload = createSerial(async () => {
    const read = await loadConfiguration(deps)
    const freshTexts = createSectionTexts(texts.sections)
    const freshBuilder = createSectionBuilder(read, freshTexts)
    await buildAll(freshBuilder, asked.values())
    configuration = read
    texts = freshTexts
    builder = freshBuilder
    before = stillInUse([...before, ...built], read)
    built = new Map()
    asked = new Map()
  })
  let prepared = Promise.resolve()

  function lookUp(gatewayId: string, { agent = null, protocol: spoken = PROTOCOL }: Partial<Receiver>) {
    const protocol = Math.min(spoken, PROTOCOL)
    return { key: keyOf(gatewayId, protocol, agent), receiver: { agent, protocol } }
  }

  function keep(key: string, fresh: SectionSet | null): SectionSet | null {
    const set = unlessSame(before.get(key), fresh)
    built.set(key, set)
    return set
  }

  async function buildInSlices(gatewayId: string, given: Partial<Receiver>): Promise<void> {
    const { key, receiver } = lookUp(gatewayId, given)
    const used = builder
    if (used === null || built.has(key)) return
    const set = await completeInSlices(used.stepsOf(gatewayId, receiver), createPace(MONOTONIC))
    if (used !== builder) await buildInSlices(gatewayId, given)
    else if (!built.has(key)) keep(key, set)
  }

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
    prepare(gatewayId, receiver = {}) {
      if (built.has(lookUp(gatewayId, receiver).key)) return Promise.resolve()
      // Builds the sections of one receiver at a time. Concurrent builds of receivers that share content would build
      // the content several times. After an error, `of` builds the sections again and throws the error to its caller.
      prepared = prepared.then(() => buildInSlices(gatewayId, receiver)).catch(() => undefined)
      return prepared
    },
    of(gatewayId, given = {}) {
      const { key, receiver } = lookUp(gatewayId, given)
      // The next reload does not build the sections of sidecars, which are small and many.
      if (receiver.agent === null) asked.set(key, { gatewayId, receiver })
      const known = built.get(key)
      if (known !== undefined || builder === null) return known ?? null
      return keep(key, builder.build(gatewayId, receiver))
    },
  }
}

type AskedReceiver = { readonly gatewayId: string; readonly receiver: Receiver }

/**
 * Builds the sections of the receivers in slices, between which the event loop does other work. The builder caches the
 * sections.
 */
async function buildAll(builder: SectionBuilder, receivers: Iterable<AskedReceiver>): Promise<void> {
  const pause = createPace(MONOTONIC)
  for (const { gatewayId, receiver } of receivers)
    await completeInSlices(builder.stepsOf(gatewayId, receiver), pause)
}

const MONOTONIC = { monotonicMs: () => performance.now() }

function keyOf(gatewayId: string, protocol: number, agent: string | null): string {
  return `${gatewayId} ${protocol} ${agent ?? ''}`
}

/**
 * Version and hashes of a set of sections. The texts are omitted, because the receiver of the set may never
 * connect again.
 */
type SectionVersion = Pick<SectionSet, 'version' | 'hashes'>

/**
 * Returns the version of each set of sections, if the configuration still contains the gateway and the agent of the
 * set.
 */
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
