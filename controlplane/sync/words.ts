import { type ProcessWord, putWords, takeWords } from './process-words-store.ts'
import type { Db } from '../db/query.ts'
import type { Peer } from './peer.ts'
import type { Roster } from './roster.ts'
import { createSerial } from './serial.ts'

/** What gateway processes say, on its way to the replica that holds their stream. */
export type Words = {
  /** Resolves when it took effect here, or lies in the database for the replica that it concerns. Rejects when it cannot. */
  say(word: ProcessWord): Promise<void>
  /** Another replica has a word of this process. */
  heard(processId: string): void
  /** Looks for words about everybody who is connected here. */
  refresh(): Promise<void>
}

export type WordsDeps = {
  readonly db: Db
  readonly roster: Roster
  /** Makes a word of a process true that is connected here. */
  readonly apply: (peer: Peer, word: ProcessWord) => void
  readonly onFailed: (error: unknown) => void
}

export function createWords({ db, roster, apply, onFailed }: WordsDeps): Words {
  let unsaid: ProcessWord[] = []
  let wanted = new Set<string>()

  const pass = createSerial(async () => {
    const words = unsaid
    unsaid = []
    if (words.length > 0) await putWords(db, words)
  })

  const fetch = createSerial(async () => {
    const ids = [...wanted]
    wanted = new Set()
    if (ids.length === 0) return
    for (const word of await takeWords(db, ids)) applyHere(word)
  })

  /** True when it is the word of a process that is connected here, as a process of that very gateway. */
  function applyHere(word: ProcessWord): boolean {
    const peer = roster.peers.get(word.process_id)
    if (peer === undefined || peer.gatewayId !== word.gateway_id) return false
    apply(peer, word)
    return true
  }

  return {
    async say(word) {
      if (applyHere(word)) return
      unsaid.push(word)
      await pass()
    },
    heard(processId) {
      if (!roster.peers.has(processId)) return
      wanted.add(processId)
      fetch().catch(onFailed)
    },
    async refresh() {
      for (const processId of roster.peers.keys()) wanted.add(processId)
      await fetch()
    },
  }
}
