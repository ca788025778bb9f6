import { UserMenu } from './frame/account/user-menu.tsx'
import { LiftDialog } from './frame/kill-switch/deactivate-dialog.tsx'
import { StopDialog } from './frame/kill-switch/kill-switch-dialog.tsx'
import { AlwaysAllowDialog } from './pages/approvals/always-allow/always-allow-dialog.tsx'
import { ShortcutDialog } from './pages/approvals/shortcut-dialog.tsx'

/** What opens over a page, with everything that places it: one chunk, fetched when the first view is done. */
export const DIALOGS = { AlwaysAllowDialog, LiftDialog, ShortcutDialog, StopDialog, UserMenu } as const
