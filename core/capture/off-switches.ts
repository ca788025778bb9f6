/**
 * Variables with which makers of agent programs turn off telemetry, update checks and the like, none of which an agent
 * needs: `chaperone run` sets those that are not set.
 */
const OFF_SWITCHES: Readonly<Record<string, string>> = {
  AIDER_CHECK_UPDATE: 'false',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  // A refused stream is otherwise sent again without a stream, and an approver is asked again.
  CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
  CREWAI_DISABLE_TELEMETRY: 'true',
  DISABLE_TELEMETRY: '1',
  DO_NOT_TRACK: '1',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
}

/** The standard switch of OpenTelemetry: it would also turn off what a person has set up. */
const OTEL_SWITCH = { OTEL_SDK_DISABLED: 'true' }

/** The switches to set beside this environment. A variable that is set, also to the empty text, stays as it is. */
export function offSwitches(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const hasOwnTelemetry = Object.keys(env).some((name) => name.startsWith('OTEL_'))
  const switches = { ...OFF_SWITCHES, ...(hasOwnTelemetry ? {} : OTEL_SWITCH) }
  return Object.fromEntries(Object.entries(switches).filter(([name]) => env[name] === undefined))
}
