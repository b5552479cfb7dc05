// SPDX-License-Identifier: Apache-2.0
// Rewards, credits and escrows of opaque accounts, and the ERC-20 token for those who withdraw. Not upgradeable.
// Pays in direct mode only: no Merkle claims exist here, so no reward can be paid by both.
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ExpiringPause} from "./ExpiringPause.sol";
import {IHydraLedger} from "./IHydraLedger.sol";
import {WalletBinding} from "./WalletBinding.sol";

/// @title The ledger of a data market: labelled data earns tokens, tokens unlock credits, credits pay for training.
/// @notice At every moment recorded = available + credits + locked + spent + supply, with spent = used - paid.
/// @dev Account, job and operation ids are salted hashes made off chain; nothing here tells who or what they are.
contract HydraLedger is IHydraLedger, ERC20, AccessControlDefaultAdminRules, WalletBinding, ExpiringPause {
    using SafeCast for uint256;

    struct Account {
        uint128 available;
        uint128 credits;
    }

    /// @notice May record rewards, within the cap of each window.
    bytes32 public constant RECORDER_ROLE = keccak256("RECORDER");
    /// @notice May unlock for accounts without a wallet, and lock, settle, pay and release for all.
    bytes32 public constant SPENDER_ROLE = keccak256("SPENDER");
    /// @notice May ask for an account to be bound to a wallet that signed for it.
    bytes32 public constant BINDER_ROLE = keccak256("BINDER");
    /// @notice May pause for a while, and veto a binding that waits.
    bytes32 public constant GUARDIAN_ROLE = keccak256("GUARDIAN");

    /// @notice Items in one batch: above it a transaction would not fit EIP-7825's cap on gas.
    uint256 public constant MAX_BATCH = 300;
    /// @notice Every amount that enters or leaves an account is a multiple of this, so that books may count in nano.
    uint256 public constant NANO = 1e9;

    /// @notice Length of the window over which the sum of rewards is capped, in seconds of block time.
    uint256 public immutable windowSeconds;
    /// @notice The most that can be recorded within one window.
    uint256 public immutable windowCap;

    /// @notice What an account holds.
    mapping(bytes32 account => Account) public accounts;
    /// @notice Whether an unlock's operation id was used.
    mapping(bytes32 opId => bool) public isDone;
    mapping(bytes32 job => Job) private _jobs;
    mapping(uint256 word => uint256 bits) private _recordedNumbers;

    // Packed by who changes them together: a batch of rewards writes the first two slots only.
    uint128 private _recorded;
    uint64 private _nextNumber;
    uint64 private _window;
    uint128 private _inWindow;
    uint128 private _available;
    uint128 private _credits;
    uint128 private _locked;
    uint128 private _used;
    uint128 private _paid;

    /// @notice Grants the roles and fixes the limits. The admin's own role moves only in two steps, `adminDelay` apart.
    constructor(Setup memory setup)
        ERC20("Hydra", "HYD")
        EIP712("HydraLedger", "1")
        AccessControlDefaultAdminRules(setup.adminDelay, setup.admin)
        WalletBinding(setup.bindDelay)
    {
        if (setup.windowSeconds == 0) revert BadSetup("windowSeconds");
        if (setup.windowCap == 0) revert BadSetup("windowCap");
        windowSeconds = setup.windowSeconds;
        windowCap = setup.windowCap;
        if (setup.recorder != address(0)) _grantRole(RECORDER_ROLE, setup.recorder);
        if (setup.spender != address(0)) _grantRole(SPENDER_ROLE, setup.spender);
        if (setup.binder != address(0)) _grantRole(BINDER_ROLE, setup.binder);
        if (setup.guardian != address(0)) _grantRole(GUARDIAN_ROLE, setup.guardian);
    }

    /// @notice Credits reward number `first + i` to `accounts_[i]`. All of the batch, or none of it.
    /// @dev A number that is marked already reverts the batch: sending one again can pay nobody twice.
    /// @param first The number of the first reward, as the sender's outbox assigned it.
    /// @param accounts_ Who is credited; at most MAX_BATCH.
    /// @param amounts How much each, in wei and whole nano.
    /// @param evidenceRoot Merkle root over the evidence of the batch's rewards.
    function recordRewards(
        uint256 first,
        bytes32[] calldata accounts_,
        uint256[] calldata amounts,
        bytes32 evidenceRoot
    ) external onlyRole(RECORDER_ROLE) whenNotPaused {
        uint256 count = _checkBatch(accounts_.length, amounts.length);
        uint256 index = first >> 8;
        uint256 word = _recordedNumbers[index];
        uint256 total;
        for (uint256 i = 0; i < count; ++i) {
            uint256 number = first + i;
            if (number >> 8 != index) {
                _recordedNumbers[index] = word;
                index = number >> 8;
                word = _recordedNumbers[index];
            }
            uint256 bit = 1 << (number & 0xff);
            if (word & bit != 0) revert NumberAlreadyRecorded(number);
            word |= bit;
            total += _credit(accounts_[i], amounts[i]);
            emit RewardRecorded(number, accounts_[i], amounts[i]);
        }
        _recordedNumbers[index] = word;
        _countRecorded(first + count, total);
        emit BatchRecorded(first, count, evidenceRoot);
    }

    /// @notice Turns available tokens into credits, once for each operation id.
    /// @dev The bound wallet alone may do it; while the account is unbound, SPENDER alone.
    function unlock(bytes32 account, uint256 amount, bytes32 opId) external whenNotPaused {
        if (walletOf[account] == address(0)) _checkRole(SPENDER_ROLE);
        else _requireWallet(account);
        if (isDone[opId]) revert OperationAlreadyDone(opId);
        isDone[opId] = true;
        uint128 value = _takeAvailable(account, amount);
        accounts[account].credits += value;
        _credits += value;
        emit Unlocked(account, amount, opId);
    }

    /// @notice Sets `maximum` of an account's credits aside for a job. Each job id once, for ever.
    function lock(bytes32 account, bytes32 job_, uint256 maximum) external onlyRole(SPENDER_ROLE) whenNotPaused {
        uint128 value = _checkAmount(maximum);
        if (_jobs[job_].status != JobStatus.None) revert JobAlreadyKnown(job_);
        Account storage holder = accounts[account];
        if (value > holder.credits) revert InsufficientCredits(account, holder.credits, maximum);
        holder.credits -= value;
        _credits -= value;
        _locked += value;
        _jobs[job_] = Job(account, value, 0, 0, 0, JobStatus.Locked);
        emit Locked(account, job_, maximum);
    }

    /// @notice Claims `used` of what the job locked, and gives the rest back to the account's credits at once.
    function settle(bytes32 job_, uint256 used) external onlyRole(SPENDER_ROLE) whenNotPaused {
        Job storage job = _lockedJob(job_);
        if (used > job.maximum) revert UsedExceedsMaximum(used, job.maximum);
        if (used % NANO != 0) revert NotWholeNano(used);
        uint128 claimed = used.toUint128();
        job.status = JobStatus.Settled;
        job.used = claimed;
        _used += claimed;
        uint128 returned = job.maximum - claimed;
        _unlockJob(job, returned);
        emit Settled(job_, job.account, used, returned);
    }

    /// @notice Pays workers out of what a settled job used, in chunks that together stay within it.
    /// @dev Payouts are numbered from 0; `first` must be the next one, so that no chunk can be paid twice.
    function payWorkers(bytes32 job_, uint256 first, bytes32[] calldata accounts_, uint256[] calldata amounts)
        external
        onlyRole(SPENDER_ROLE)
        whenNotPaused
    {
        uint256 count = _checkBatch(accounts_.length, amounts.length);
        Job storage job = _jobs[job_];
        if (job.status != JobStatus.Settled) revert JobNotSettled(job_);
        if (first != job.payouts) revert PayoutOutOfOrder(job.payouts, first);
        uint256 total;
        for (uint256 i = 0; i < count; ++i) {
            total += _credit(accounts_[i], amounts[i]);
            emit WorkerPaid(job_, first + i, accounts_[i], amounts[i]);
        }
        if (total > job.used - job.paid) revert PayoutsExceedUsed(job.used - job.paid, total);
        job.payouts += uint64(count);
        job.paid += uint128(total);
        _paid += uint128(total);
        _available += uint128(total);
    }

    /// @notice Gives back all that a job locked and never settled.
    function release(bytes32 job_) external onlyRole(SPENDER_ROLE) whenNotPaused {
        Job storage job = _lockedJob(job_);
        job.status = JobStatus.Released;
        _unlockJob(job, job.maximum);
        emit Released(job_, job.account, job.maximum);
    }

    /// @notice Takes tokens from the caller's wallet and makes them available to an account (a sponsor's, say).
    function deposit(bytes32 account, uint256 amount) external whenNotPaused {
        uint128 value = _credit(account, amount);
        _available += value;
        _burn(msg.sender, amount);
        emit Deposited(account, msg.sender, amount);
    }

    /// @notice Pays available tokens out to the account's bound wallet, which alone may ask for it.
    function withdraw(bytes32 account, uint256 amount) external whenNotPaused {
        _requireWallet(account);
        _takeAvailable(account, amount);
        _mint(msg.sender, amount);
        emit Withdrawn(account, msg.sender, amount);
    }

    /// @notice Asks for an account to be bound to a wallet, with the wallet's EIP-712 or ERC-1271 signature.
    /// @param deadline The signature's last second, which it covers.
    function requestBind(bytes32 account, address wallet, uint256 deadline, bytes calldata signature)
        external
        onlyRole(BINDER_ROLE)
        whenNotPaused
    {
        if (account == 0) revert ZeroAccount();
        _requestBind(account, wallet, deadline, signature);
    }

    /// @notice Withdraws a request during its delay: for the wallet itself, BINDER or GUARDIAN.
    function cancelBind(bytes32 account) external {
        bool isOurs = hasRole(BINDER_ROLE, msg.sender) || hasRole(GUARDIAN_ROLE, msg.sender);
        if (!isOurs && msg.sender != pendingBind[account].wallet) revert NotTheWallet(account, msg.sender);
        _cancelBind(account);
    }

    /// @notice Makes a request final after its delay: for the wallet itself or BINDER.
    function finalizeBind(bytes32 account) external whenNotPaused {
        if (!hasRole(BINDER_ROLE, msg.sender) && msg.sender != pendingBind[account].wallet) {
            revert NotTheWallet(account, msg.sender);
        }
        _finalizeBind(account);
    }

    /// @notice Frees an account from its wallet. Only the wallet can.
    function unbind(bytes32 account) external whenNotPaused {
        _unbind(account);
    }

    /// @notice Freezes all balances for `duration` seconds, at most MAX_PAUSE; it ends by itself.
    function pause(uint256 duration) external onlyRole(GUARDIAN_ROLE) {
        _startPause(duration);
    }

    /// @notice Ends a pause early.
    function unpause() external onlyRole(GUARDIAN_ROLE) {
        _endPause();
    }

    /// @notice A job's escrow.
    function jobs(bytes32 job_) external view returns (Job memory) {
        return _jobs[job_];
    }

    /// @notice Whether a reward number was recorded.
    function isRecorded(uint256 number) external view returns (bool) {
        return _recordedNumbers[number >> 8] & (1 << (number & 0xff)) != 0;
    }

    /// @notice What can still be recorded in the window of the current block.
    function windowLeft() external view returns (uint256) {
        return block.timestamp / windowSeconds == _window ? windowCap - _inWindow : windowCap;
    }

    /// @notice The contract's sums, which balance at every block.
    function totals() external view returns (Totals memory) {
        return Totals({
            recorded: _recorded,
            available: _available,
            credits: _credits,
            locked: _locked,
            spent: _used - _paid,
            supply: totalSupply(),
            used: _used,
            paid: _paid,
            nextNumber: _nextNumber
        });
    }

    /// @dev Also freezes transfers between wallets while paused.
    function _update(address from, address to, uint256 value) internal override whenNotPaused {
        super._update(from, to, value);
    }

    function _checkBatch(uint256 count, uint256 amounts) private pure returns (uint256) {
        if (count != amounts) revert ListsDiffer(count, amounts);
        if (count == 0 || count > MAX_BATCH) revert BadBatchSize(count, MAX_BATCH);
        return count;
    }

    function _checkAmount(uint256 amount) private pure returns (uint128) {
        if (amount == 0) revert ZeroAmount();
        if (amount % NANO != 0) revert NotWholeNano(amount);
        return amount.toUint128();
    }

    /// @dev Leaves the sum `_available` to the caller, who adds it once for a batch.
    function _credit(bytes32 account, uint256 amount) private returns (uint128 value) {
        if (account == 0) revert ZeroAccount();
        value = _checkAmount(amount);
        accounts[account].available += value;
    }

    function _takeAvailable(bytes32 account, uint256 amount) private returns (uint128 value) {
        value = _checkAmount(amount);
        Account storage holder = accounts[account];
        if (value > holder.available) revert InsufficientAvailable(account, holder.available, amount);
        holder.available -= value;
        _available -= value;
    }

    function _countRecorded(uint256 next, uint256 total) private {
        uint64 window = (block.timestamp / windowSeconds).toUint64();
        uint256 left = window == _window ? windowCap - _inWindow : windowCap;
        if (total > left) revert WindowCapExceeded(total, left);
        _window = window;
        _inWindow = (windowCap - left + total).toUint128();
        _available += total.toUint128();
        _recorded += total.toUint128();
        if (next > _nextNumber) _nextNumber = next.toUint64();
    }

    function _lockedJob(bytes32 job_) private view returns (Job storage job) {
        job = _jobs[job_];
        if (job.status != JobStatus.Locked) revert JobNotLocked(job_);
    }

    function _unlockJob(Job storage job, uint128 returned) private {
        _locked -= job.maximum;
        _credits += returned;
        accounts[job.account].credits += returned;
    }
}
