import { afterAll, beforeAll } from 'vitest'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { person, type Replica, type Reply, startWorld, type World } from './harness.ts'

export type TwoReplicas = {
  readonly a: Replica
  readonly b: Replica
  readonly admin: UserPrincipal
  /** Sets or lifts a kill switch at replica A, as an admin. */
  set(active: boolean, body?: object): Promise<Reply>
}

/** Two replicas of one control plane for the tests of a file. */
export function useTwoReplicas(): TwoReplicas {
  const admin = person({ role: 'admin', email: 'root@example.com' })
  let world: World
  let a: Replica
  let b: Replica
  beforeAll(async () => {
    world = await startWorld()
    a = await world.replica()
    b = await world.replica()
  })
  afterAll(() => world?.stop())
  return {
    admin,
    get a() {
      return a
    },
    get b() {
      return b
    },
    set: (active, body = {}) =>
      a.user(admin, 'POST', '/api/dashboard/kill-switch', {
        active,
        ...(active && { reason: 'on A' }),
        ...body,
      }),
  }
}
