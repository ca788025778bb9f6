import * as z from 'zod'
import { readStateJson, writeStateFile } from '../state/state-home.ts'

/**
 * Name of the file with the user's sessions. The file maps the key of the control plane (`sessionStoreKey`) to a
 * session. The file is in the user's state folder, so that a program with access to a data folder does not get a
 * session.
 */
const FILE = 'sessions.json'
const StoredSession = z.object({ id: z.string(), email: z.string() })
const Sessions = z.record(z.string(), StoredSession)
export type StoredSession = z.infer<typeof StoredSession>

export function storedSession(env: NodeJS.ProcessEnv, place: string): StoredSession | undefined {
  return read(env)[place]
}

/** Stores the session for one control plane; null removes the stored session. */
export function storeSession(env: NodeJS.ProcessEnv, place: string, session: StoredSession | null): void {
  const { [place]: _replaced, ...others } = read(env)
  const sessions = session === null ? others : { ...others, [place]: session }
  writeStateFile(env, FILE, `${JSON.stringify(sessions, null, 2)}\n`)
}

function read(env: NodeJS.ProcessEnv): z.infer<typeof Sessions> {
  return readStateJson(env, FILE, Sessions) ?? {}
}
