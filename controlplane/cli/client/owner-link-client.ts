import * as z from 'zod'
import type { OwnerLinkReply } from '../../../core/wire/access/sessions.ts'
import type { ApiClient } from './client.ts'
import { replyFields } from './reply-fields.ts'

const Created = replyFields<OwnerLinkReply>()(z.looseObject({ owner_link: z.string().nullable() }))

/**
 * Creates a link with which the first owner registers; null when the installation has an owner.
 *
 * @param options.isRequired True to require a link for the registration of the first owner from now on. This is
 * necessary before an agent runs, because the agent could otherwise register as the owner.
 */
export async function createOwnerLink(api: ApiClient, { isRequired = false } = {}): Promise<string | null> {
  return Created.parse(await api.call('POST', '/api/auth/owner-link', { required: isRequired })).owner_link
}
