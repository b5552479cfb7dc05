// SPDX-License-Identifier: Apache-2.0
// A pause that ends by itself: whoever may pause can stop the ledger for days at most, never for good.
pragma solidity 0.8.37;

abstract contract ExpiringPause {
    /// @notice The longest pause. A new one can be declared only after the last has ended.
    uint256 public constant MAX_PAUSE = 7 days;

    /// @notice The pause holds while block.timestamp is below this.
    uint256 public pausedUntil;

    event PauseStarted(address indexed by, uint256 until);
    event PauseEnded(address indexed by);

    error Paused(uint256 until);
    error NotPaused();
    error BadPause(uint256 duration, uint256 maximum);

    modifier whenNotPaused() {
        _requireNotPaused();
        _;
    }

    /// @notice Whether balances are frozen now.
    function paused() public view returns (bool) {
        return block.timestamp < pausedUntil;
    }

    function _startPause(uint256 duration) internal {
        _requireNotPaused();
        if (duration == 0 || duration > MAX_PAUSE) revert BadPause(duration, MAX_PAUSE);
        pausedUntil = block.timestamp + duration;
        emit PauseStarted(msg.sender, pausedUntil);
    }

    function _endPause() internal {
        if (!paused()) revert NotPaused();
        pausedUntil = 0;
        emit PauseEnded(msg.sender);
    }

    function _requireNotPaused() internal view {
        if (paused()) revert Paused(pausedUntil);
    }
}
