/**
 * Environment variables that disable telemetry, update checks and similar requests of agent programs. The programs work
 * without these requests. `chaperone run` sets the variables that are unset.
 */
const OFF_SWITCHES: Readonly<Record<string, string>> = {
  AIDER_CHECK_UPDATE: 'false',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  // Without this variable the client repeats a refused streaming request without streaming, which creates a second
  // approval.
  CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
  CREWAI_DISABLE_TELEMETRY: 'true',
  DISABLE_TELEMETRY: '1',
  DO_NOT_TRACK: '1',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
}

/**
 * Standard variable that disables OpenTelemetry. The variable is set only if the user configured no `OTEL_` variable,
 * because an `OTEL_` variable shows that the user wants telemetry.
 */
const OTEL_SWITCH = { OTEL_SDK_DISABLED: 'true' }

/**
 * Returns the switches to add to this environment. A variable that is already set, including to the empty text, stays
 * unchanged.
 */
export function offSwitches(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const hasOwnTelemetry = Object.keys(env).some((name) => name.startsWith('OTEL_'))
  const switches = { ...OFF_SWITCHES, ...(hasOwnTelemetry ? {} : OTEL_SWITCH) }
  return Object.fromEntries(Object.entries(switches).filter(([name]) => env[name] === undefined))
}
