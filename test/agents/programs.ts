import type { AgentProgram } from './program.ts'
import { aiSdk } from './programs/ai-sdk.ts'
import { aiSdkAnthropic } from './programs/ai-sdk-anthropic.ts'
import { aider } from './programs/aider.ts'
import { claudeAgentSdk } from './programs/claude-agent-sdk.ts'
import { claudeCode } from './programs/claude-code.ts'
import { claudeCodeMcp } from './programs/claude-code-mcp.ts'
import { codex } from './programs/codex.ts'
import { crewai } from './programs/crewai.ts'
import { fastmcp } from './programs/fastmcp.ts'
import { geminiCli } from './programs/gemini-cli.ts'
import { githubMcpServer } from './programs/github-mcp-server.ts'
import { googleAdk } from './programs/google-adk.ts'
import { langgraphJs } from './programs/langgraph-js.ts'
import { langgraphJsStreaming } from './programs/langgraph-js-streaming.ts'
import { langgraphPy } from './programs/langgraph-py.ts'
import { langgraphPyStreaming } from './programs/langgraph-py-streaming.ts'
import { litellm } from './programs/litellm.ts'
import { mastra } from './programs/mastra.ts'
import { mcpRemote } from './programs/mcp-remote.ts'
import { openaiAgentsJs } from './programs/openai-agents-js.ts'
import { openaiAgentsPy } from './programs/openai-agents-py.ts'
import { opencode } from './programs/opencode.ts'
import { pydanticAi } from './programs/pydantic-ai.ts'
import { serverGithub } from './programs/server-github.ts'
import { smolagents } from './programs/smolagents.ts'

/** In the order of the table. */
export const PROGRAMS: readonly AgentProgram[] = [
  claudeCode,
  claudeCodeMcp,
  codex,
  geminiCli,
  opencode,
  openaiAgentsJs,
  openaiAgentsPy,
  langgraphJs,
  langgraphJsStreaming,
  langgraphPy,
  langgraphPyStreaming,
  aiSdk,
  aiSdkAnthropic,
  claudeAgentSdk,
  aider,
  pydanticAi,
  mastra,
  smolagents,
  crewai,
  googleAdk,
  litellm,
  fastmcp,
  mcpRemote,
  serverGithub,
  githubMcpServer,
]
