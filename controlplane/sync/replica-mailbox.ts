import type { Db } from '../db/query.ts'
import type { Peer } from './peer.ts'
import type { PeerRegistry } from './peer-registry.ts'
import { type ProcessMessage, publishMessages, receiveMessages } from './replica-mailbox-store.ts'
import { createSerial } from './serial.ts'

/** Delivers messages of gateway processes to the replica that holds the stream of each process. */
export type ReplicaMailbox = {
  /**
   * Resolves when this replica has applied the message, or has stored the message for the replica with the stream.
   * Rejects when both fail.
   */
  publish(message: ProcessMessage): Promise<void>
  /** Reads and applies the messages that another replica published for this process. */
  receive(processId: string): void
  /** Reads and applies the messages for every process that is connected to this replica. */
  refresh(): Promise<void>
}

export type ReplicaMailboxDeps = {
  readonly db: Db
  readonly peerRegistry: PeerRegistry
  /** Applies a message of a process that is connected to this replica. */
  readonly apply: (peer: Peer, message: ProcessMessage) => void
  readonly onFailed: (error: unknown) => void
}

export function createReplicaMailbox({
  db,
  peerRegistry,
  apply,
  onFailed,
}: ReplicaMailboxDeps): ReplicaMailbox {
  let unpublished: ProcessMessage[] = []
  let wanted = new Set<string>()

  const pass = createSerial(async () => {
    const messages = unpublished
    unpublished = []
    if (messages.length > 0) await publishMessages(db, messages)
  })

  const fetch = createSerial(async () => {
    const ids = [...wanted]
    wanted = new Set()
    if (ids.length === 0) return
    for (const message of await receiveMessages(db, ids)) applyHere(message)
  })

  /**
   * Applies a message. Returns false unless the process is connected to this replica and belongs to the gateway that
   * the message names.
   */
  function applyHere(message: ProcessMessage): boolean {
    const peer = peerRegistry.peers.get(message.process_id)
    if (peer === undefined || peer.gatewayId !== message.gateway_id) return false
    apply(peer, message)
    return true
  }

  return {
    async publish(message) {
      if (applyHere(message)) return
      unpublished.push(message)
      await pass()
    },
    receive(processId) {
      if (!peerRegistry.peers.has(processId)) return
      wanted.add(processId)
      fetch().catch(onFailed)
    },
    async refresh() {
      for (const processId of peerRegistry.peers.keys()) wanted.add(processId)
      await fetch()
    },
  }
}
