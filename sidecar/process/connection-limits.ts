import { readFileSync } from 'node:fs'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import type { QuotaLimits } from '../listener/connection-quotas.ts'

/** Connection limits from the environment; null for the default. */
export type ConnectionSettings = {
  readonly maxConnections: number | null
  readonly maxConnectionsPerAgent: number | null
  readonly maxTunnelsPerAgent: number | null
}

/** Descriptors reserved for the journal, the control stream, epoll and libraries. */
const RESERVED_DESCRIPTORS = 64

/**
 * Returns the connection limits, which never exceed what the file descriptors of the process allow. Each connection
 * needs two descriptors, one to the client and one to the upstream. `isSingleAgent` is true when all connections belong
 * to one agent, as in a pod.
 */
export function connectionLimits(
  settings: ConnectionSettings,
  descriptors: number,
  isSingleAgent: boolean,
): QuotaLimits {
  const usable = descriptors - Math.min(RESERVED_DESCRIPTORS, Math.floor(descriptors / 2))
  const connections = Math.max(8, Math.floor(usable / 2))
  const maxUnauthenticated = Math.min(LIMITS.maxUnauthenticatedConnections, Math.ceil(connections / 4))
  const maxConnections = Math.min(
    settings.maxConnections ?? LIMITS.maxConnections,
    connections - maxUnauthenticated,
  )
  const share = isSingleAgent ? maxConnections : Math.ceil(maxConnections / 2)
  const perAgent = isSingleAgent ? maxConnections : Math.min(LIMITS.maxConnectionsPerAgent, share)
  const maxConnectionsPerAgent = Math.min(settings.maxConnectionsPerAgent ?? perAgent, maxConnections)
  return {
    maxConnections,
    maxConnectionsPerAgent,
    maxTunnelsPerAgent: Math.min(
      settings.maxTunnelsPerAgent ?? maxConnectionsPerAgent,
      maxConnectionsPerAgent,
    ),
    maxUnauthenticated,
    unauthenticatedTimeoutMs: LIMITS.unauthenticatedTimeoutMs,
  }
}

/** Returns the soft limit of file descriptors, which Node raises to the hard limit at its start. */
export function descriptorLimit(): number {
  const found = /^Max open files +(\d+)/m.exec(readLimits())?.[1]
  return found === undefined ? DEFAULT_DESCRIPTORS : Number(found)
}

/**
 * Assumed number of file descriptors where /proc is missing, as on macOS: the minimum that launchd and Node guarantee.
 */
const DEFAULT_DESCRIPTORS = 10_240

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
