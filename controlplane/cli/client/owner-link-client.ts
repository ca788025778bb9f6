import * as z from 'zod'
import type { ApiClient } from './client.ts'

const Created = z.looseObject({ owner_link: z.string().nullable() })

/**
 * Creates a link with which the first owner registers; null once there is an owner.
 *
 * @param options.isRequired From now on the first owner can only register with a link, because an agent runs.
 */
export async function createOwnerLink(api: ApiClient, { isRequired = false } = {}): Promise<string | null> {
  return Created.parse(await api.call('POST', '/api/auth/owner-link', { required: isRequired })).owner_link
}
