import type { ActionSpec } from '../../../../core/action/spec.ts'

/**
 * Actions that send a file, by action type. The values are parameters that replace the file: an action with one of
 * these parameters sends no file.
 */
export const FILE_ACTIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['chat.user.set_photo', []],
  ['codehost.release_asset.upload', []],
  ['llm_a.audio.transcribe', []],
  ['llm_a.audio.translate', []],
  ['llm_a.container_file.create', ['file_id']],
  ['llm_a.file.upload', []],
  ['llm_a.image.create_variation', []],
  ['llm_a.image.edit', ['images']],
  // The provider expects the SDP offer as a part of a multipart form, like a file.
  ['llm_a.realtime_call.create', []],
  ['llm_a.skill.create', []],
  ['llm_a.skill_version.create', []],
  ['llm_a.upload.add_part', []],
  ['llm_a.voice.create', []],
  ['llm_a.voice_consent.create', []],
  ['llm_b.file.upload', []],
  ['llm_b.skill.create', []],
  ['llm_b.skill_version.create', []],
  ['llm_c.environment_file.upload', []],
  ['llm_c.file.upload', []],
  ['llm_c.file_store.upload_file', []],
  ['payments.file.upload', []],
])

/**
 * Returns the reason why an action cannot be executed from its spec; null when it can. A file is sent as a multipart
 * form, which a spec cannot contain. Without this check, the provider would refuse the JSON request after the decision
 * token was used.
 */
export function fileProblem({ type, parameters = {} }: ActionSpec): string | null {
  const instead = FILE_ACTIONS.get(type)
  if (instead === undefined || instead.some((name) => parameters[name] !== undefined)) return null
  const other = instead.length === 0 ? '' : `give parameters.${instead.join(' or ')}, or `
  return `action_spec.type: ${type} sends a file, which an action spec cannot carry; ${other}send the request itself through the gateway`
}
