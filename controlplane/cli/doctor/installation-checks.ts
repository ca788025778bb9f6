import * as z from 'zod'
import { type ApiClient, readIfAllowed } from '../client/client.ts'
import type { Check } from './check.ts'

const Overview = z.looseObject({ warnings: z.array(z.string()).default([]) })

/** Returns the warnings of the control plane about the installation, each a sentence with its remedy. */
export async function installationChecks(api: ApiClient): Promise<Check[]> {
  const overview = await readIfAllowed(api, '/api/dashboard/overview')
  return Overview.parse(overview ?? {}).warnings.map((found) => ({
    ...{ name: 'installation', state: 'warning', found },
  }))
}
