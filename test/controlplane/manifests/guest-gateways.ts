import { afterAll, beforeAll } from 'vitest'
import { type Enrolled, type Replica, startWorld, type World } from '../sync/harness.ts'
import { createManifests, type Manifests } from './manifests.ts'

/** A Gateway of the namespace `host` that admits the Connectors of all namespaces. */
export type GuestGateway = {
  readonly enrolled: Enrolled
  readonly name: string
  readonly ref: { readonly name: string; readonly namespace: string }
}

export type GuestGateways = {
  readonly replica: Replica
  readonly manifests: Manifests
  /** How many Gateways were made: for names of objects that no other test uses. */
  readonly count: number
  gateway(): Promise<GuestGateway>
}

/** One control plane for the tests of a file; `prefix` begins the names of its Gateways. */
export function useGuestGateways(prefix: string): GuestGateways {
  let world: World
  let replica: Replica
  let manifests: Manifests
  let count = 0
  beforeAll(async () => {
    world = await startWorld()
    replica = await world.replica()
    manifests = createManifests(world, replica)
  })
  afterAll(() => world?.stop())
  return {
    get replica() {
      return replica
    },
    get manifests() {
      return manifests
    },
    get count() {
      return count
    },
    async gateway() {
      const name = `${prefix}${++count}`
      const spec = { allowedNamespaces: { connectors: { from: 'All' } } }
      await manifests.apply('Gateway', `host/${name}`, spec)
      const enrolled = await replica.enrol(`host/${name}`)
      return { enrolled, name: `host/${name}`, ref: { name, namespace: 'host' } }
    },
  }
}
