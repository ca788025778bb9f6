import * as z from 'zod'
import { MAX_HANDLES } from '../../connectors/handles/handle.ts'

/**
 * Lower-case hex SHA-256 over the kind and the id of a handle, and over the provider or Connector within which the id
 * is unique. The gateway never sends the id itself.
 */
const HandleHash = z.string().regex(/^[0-9a-f]{64}$/)

/** Handle that the response of the provider contained. */
export const GivenHandle = z.object({ kind: z.string().max(64), hash: HandleHash })

export const HandleOwnerSchema = z.enum(['own', 'foreign', 'unknown'])

/** Requests the owner of each handle: this agent, another agent or unknown. */
export const HandlesBody = z.object({
  agent: z.string().min(1).max(300),
  hashes: z.array(HandleHash).min(1).max(MAX_HANDLES),
})
/** Owners of the handles, in the order of `hashes`. */
export const HandlesReply = z.object({ owners: z.array(HandleOwnerSchema) })

export type GivenHandle = z.infer<typeof GivenHandle>
export type HandlesBody = z.infer<typeof HandlesBody>
export type HandlesReply = z.infer<typeof HandlesReply>
