import { chmod, rm } from 'node:fs/promises'
import { isOpaque } from '../../core/capture/host-names.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import { identify } from '../identity.ts'
import { createRelayedConnections } from '../listener/captured/relayed-connections.ts'
import type { FrontDeps } from '../listener/deps.ts'
import { createAgentDns } from '../listener/dns/agent-dns.ts'
import { createUnownedNames } from '../listener/dns/unowned-names.ts'
import type { Front } from '../listener/front.ts'
import { existsBy, isUnownedHost, ownerOf, resolveAbsolute } from '../name-owner.ts'
import type { KeyedPort } from '../pipeline/credentials/credentials.ts'

export type CaptureSocketDeps = {
  readonly path: string
  readonly front: Front
  readonly listener: FrontDeps
  readonly snapshot: () => Snapshot | null
  readonly accepts: KeyedPort['accepts']
  readonly monotonicMs: () => number
}

/**
 * Opens the Unix socket to which `chaperone run --capture` relays the connections of a network namespace. The socket
 * serves the same protocols as the listeners of a pod, but for many agents, each identified by its key. Only the user
 * of this process may open the socket. A path that cannot be used causes a warning, because only `run --capture` needs
 * the socket.
 */
export async function openCaptureSocket(deps: CaptureSocketDeps): Promise<void> {
  await open(deps).catch((error: unknown) =>
    deps.listener.log.warn(
      { err: error, path: deps.path },
      'the Unix socket for chaperone run --capture cannot be opened, so commands with --capture fail; other commands are not affected',
    ),
  )
}

async function open(deps: CaptureSocketDeps): Promise<void> {
  const { path, front, listener, snapshot, accepts, monotonicMs } = deps
  const serve = createRelayedConnections({
    ...listener,
    accepts,
    isKnown(credentials) {
      const rules = snapshot()
      return rules !== null && identify(credentials, rules)?.status === 'active'
    },
    isOpaque(host, port) {
      const rules = snapshot()
      return rules !== null && isOpaque(rules, host, port)
    },
    isUnowned: (host, port) => isUnownedHost(snapshot(), host, port),
    dnsOf: createAgentDns({
      ownerOf: (name) => ownerOf(snapshot(), name),
      exists: existsBy(resolveAbsolute),
      answersUnowned: listener.canRefuseInside,
      onUnowned: createUnownedNames({
        ...listener,
        domains: [],
        isUnowned: (name) => ownerOf(snapshot(), name) === 'unknown',
        monotonicMs,
      }),
      families: () => ({ v4: true, v6: true }),
      monotonicMs,
      log: listener.log,
    }),
  })
  await rm(path, { force: true })
  await front.openListener({ path }, serve)
  await chmod(path, 0o600)
}
