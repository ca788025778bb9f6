import { UserMenu } from './frame/account/user-menu.tsx'
import { HelpDialog } from './frame/help-dialog.tsx'
import { DeactivateDialog } from './frame/kill-switch/deactivate-dialog.tsx'
import { KillSwitchDialog } from './frame/kill-switch/kill-switch-dialog.tsx'
import { CommandPalette } from './frame/palette/command-palette.tsx'
import { AlwaysAllowDialog } from './pages/approvals/always-allow/always-allow-dialog.tsx'
import { GrantDialog } from './pages/approvals/grant/grant-dialog.tsx'
import { NotifyDialog } from './pages/approvals/notify/notify-dialog.tsx'
import { ShortcutDialog } from './pages/approvals/shortcut-dialog.tsx'

/** Dialogs and menus of the dashboard. One chunk contains all of them and loads after the first view. */
export const DIALOGS = {
  AlwaysAllowDialog,
  CommandPalette,
  DeactivateDialog,
  GrantDialog,
  HelpDialog,
  NotifyDialog,
  ShortcutDialog,
  KillSwitchDialog,
  UserMenu,
} as const
