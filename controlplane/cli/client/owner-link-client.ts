import * as z from 'zod'
import type { ApiClient } from './client.ts'

const Made = z.looseObject({ owner_link: z.string().nullable() })

/**
 * Makes a link with which the first owner registers; null once there is an owner. `isRequired`: an agent is started, and
 * registration without a link ends.
 */
export async function createOwnerLink(api: ApiClient, { isRequired = false } = {}): Promise<string | null> {
  return Made.parse(await api.call('POST', '/api/auth/owner-link', { required: isRequired })).owner_link
}
