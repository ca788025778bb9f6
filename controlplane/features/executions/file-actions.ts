import type { ActionSpec } from '../../../core/action/spec.ts'

/** File actions by type. An action that has one of the listed parameters sends no file. */
export const FILE_ACTIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['chat.user.set_photo', []],
  ['codehost.release_asset.upload', []],
  ['llm_a.audio.transcribe', []],
  ['llm_a.audio.translate', []],
  ['llm_a.container_file.create', ['file_id']],
  ['llm_a.file.upload', []],
  ['llm_a.image.create_variation', []],
  ['llm_a.image.edit', ['images']],
  // The provider expects the SDP offer as a form part, like a file.
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
 * Returns why an action cannot be executed from its spec; null when it can. A file action is sent as a multipart form,
 * and a spec cannot carry a file. The provider would refuse the action as JSON after the token was used.
 */
export function fileProblem({ type, parameters = {} }: ActionSpec): string | null {
  const instead = FILE_ACTIONS.get(type)
  if (instead === undefined || instead.some((name) => parameters[name] !== undefined)) return null
  const other = instead.length === 0 ? '' : `give parameters.${instead.join(' or ')}, or `
  return `action_spec.type: ${type} sends a file, which an action spec cannot carry: ${other}send the request itself through the gateway`
}
