import * as z from 'zod'
import { readStateJson, writeStateFile } from '../state/state-home.ts'

/** Proofs that a user signed in at this terminal before, by the place of the control plane and the e-mail address. */
const FILE = 'devices.json'
const Devices = z.record(z.string(), z.record(z.string(), z.string()))

/** Returns the cookie that keeps the sign-ins of this terminal apart from those of strangers. */
export function storedDeviceProof(env: NodeJS.ProcessEnv, place: string, email: string): string | undefined {
  return read(env)[place]?.[email.toLowerCase()]
}

export function storeDeviceProof(
  env: NodeJS.ProcessEnv,
  place: string,
  { email, cookie }: { readonly email: string; readonly cookie: string },
): void {
  const all = read(env)
  const devices = { ...all, [place]: { ...all[place], [email.toLowerCase()]: cookie } }
  writeStateFile(env, FILE, `${JSON.stringify(devices, null, 2)}\n`)
}

function read(env: NodeJS.ProcessEnv): z.infer<typeof Devices> {
  return readStateJson(env, FILE, Devices) ?? {}
}
