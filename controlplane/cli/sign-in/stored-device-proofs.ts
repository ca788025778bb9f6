import * as z from 'zod'
import { readStateJson, writeStateFile } from '../state/state-home.ts'

/**
 * Name of the file with the device proofs: cookies that prove earlier sign-ins on this computer. The file maps the
 * key of the control plane (`sessionStoreKey`) and the e-mail address of the user to a device proof.
 */
const FILE = 'devices.json'
const Devices = z.record(z.string(), z.record(z.string(), z.string()))

/**
 * Returns the cookie that proves an earlier sign-in on this computer. The control plane counts failed sign-ins with
 * this cookie separately from those of other clients.
 */
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
